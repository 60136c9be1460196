//! The texts of calls, looked up by the ids of functions and threads.

use polars::prelude::*;
use polars_arrow::array::{DictionaryArray, PrimitiveArray, Utf8ViewArray};
use polars_arrow::bitmap::Bitmap;
use profctl_model::hash::FastMap;
use profctl_model::{IdVec, Names, ThreadId};

/// The type of names: one set of categories for all columns, tables and files, so that any two can
/// be compared.
pub(crate) fn categorical() -> DataType {
    DataType::from_categories(Categories::global())
}

/// The names that the calls of one run have.
#[derive(Debug)]
pub struct SpanNames {
    pub(crate) run: Texts,
    pub(crate) name: Texts,
    pub(crate) module: Texts,
    pub(crate) kind: Texts,
    pub(crate) thread: Texts,
    /// The number of each CPU.
    pub(crate) cpus: Vec<i32>,
    pub(crate) knows_off_cpu: bool,
}

impl SpanNames {
    /// Those of a run called `run`, its threads by `labels`.
    pub fn new(
        run: &str,
        names: &Names,
        labels: &IdVec<ThreadId, String>,
        knows_off_cpu: bool,
    ) -> Result<Self, crate::Error> {
        let funcs = &names.funcs;
        Ok(Self {
            run: Texts::new("run", [Some(run)])?,
            name: Texts::new("name", funcs.iter().map(|func| Some(func.name.as_str())))?,
            module: Texts::new("module", funcs.iter().map(|func| func.module.as_deref()))?,
            kind: Texts::new("kind", funcs.iter().map(|func| Some(func.kind.name())))?,
            thread: Texts::new("thread", labels.iter().map(|label| Some(label.as_str())))?,
            cpus: names.cpus.iter().map(|&n| i32::try_from(n).unwrap_or(i32::MAX)).collect(),
            knows_off_cpu,
        })
    }

    /// The texts of a column of `spans`; nothing if it has none.
    pub(crate) fn texts(&self, column: &str) -> Option<&Texts> {
        Some(match column {
            "run" => &self.run,
            "name" => &self.name,
            "module" => &self.module,
            "kind" => &self.kind,
            "thread" => &self.thread,
            _ => return None,
        })
    }
}

/// The texts of one column by id.
#[derive(Debug)]
pub(crate) struct Texts {
    /// Of each id.
    pub(crate) categories: Series,
    /// Each text once.
    distinct: Vec<String>,
    /// The row of each id among them; nothing for null.
    rows: Vec<Option<u32>>,
}

impl Texts {
    fn new<'a>(
        name: &'static str,
        texts: impl IntoIterator<Item = Option<&'a str>>,
    ) -> PolarsResult<Self> {
        let texts: Vec<Option<&str>> = texts.into_iter().collect();
        let (mut distinct, mut row_of) = (Vec::new(), FastMap::default());
        let mut row = |text: &'a str| {
            *row_of.entry(text).or_insert_with(|| {
                distinct.push(text.to_owned());
                distinct.len() as u32 - 1
            })
        };
        let rows = texts.iter().map(|text| text.map(&mut row)).collect();
        let categories = Series::new(PlSmallStr::from_static(name), texts).cast(&categorical())?;
        Ok(Self { categories, distinct, rows })
    }

    /// The texts of `ids` with a dictionary, in which are only those.
    pub(crate) fn dictionary(&self, ids: &[u32]) -> PolarsResult<ArrayRef> {
        let mut used = Vec::new();
        let mut keys: Vec<Option<u32>> = vec![None; self.distinct.len()];
        let mut key = |row: u32| {
            *keys[row as usize].get_or_insert_with(|| {
                used.push(self.distinct[row as usize].as_str());
                used.len() as u32 - 1
            })
        };
        let rows = ids.iter().map(|&id| self.rows[id as usize]);
        let validity = Bitmap::from_trusted_len_iter(rows.clone().map(|row| row.is_some()));
        let keys = rows.map(|row| row.map_or(0, &mut key)).collect();
        let keys = PrimitiveArray::from_vec(keys).with_validity(Some(validity));
        let values = Utf8ViewArray::from_slice_values(used).boxed();
        Ok(DictionaryArray::<u32>::try_from_keys(keys, values, false)?.boxed())
    }
}
