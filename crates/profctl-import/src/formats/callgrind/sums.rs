//! Lines to sums.
//!
//! A call of a function from itself adds nothing to what it cost in all: it is counted where it was
//! called from elsewhere. `f'2`, the second level of a recursion, is `f`.

use profctl_model::hash::FastMap;

use super::lines::{Names, Space, cost};
use crate::emit::Emitter;
use crate::text::{self, Line};

/// What became of one function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) object: String,
    pub(super) calls: u64,
    /// The cost of its own instructions.
    pub(super) own: u64,
    /// That and the cost of everything it called.
    pub(super) inclusive: u64,
}

pub(super) struct Sums {
    column: usize,
    n_positions: usize,
    names: Names,
    functions: Vec<Function>,
    rows: FastMap<(String, String), usize>,
    object: String,
    /// The function whose lines follow, and whether it is the first level of a recursion.
    current: Option<(usize, bool)>,
    /// The callee of the next `calls=`, and the object in which it is.
    callee: Option<String>,
    callee_object: Option<String>,
    /// The callee whose cost the next line states, and whether it is the first level of a recursion.
    called: Option<(usize, bool)>,
    /// The total that the file states.
    pub(super) stated: Option<u64>,
}

impl Sums {
    pub(super) fn new(column: usize) -> Self {
        Self {
            column,
            n_positions: 1,
            names: Names::default(),
            functions: Vec::new(),
            rows: FastMap::default(),
            object: String::new(),
            current: None,
            callee: None,
            callee_object: None,
            called: None,
            stated: None,
        }
    }

    /// Takes the next line.
    pub(super) fn line(&mut self, line: &Line<'_>, out: &mut Emitter) {
        let said = std::str::from_utf8(line.text).map_err(|_| "text").and_then(|text| {
            // A number that was cut short is another number.
            if line.ended { self.take(text.trim()) } else { Err("a line end") }
        });
        match said {
            Ok(false) => {}
            Ok(true) => out.records += 1,
            Err(expected) => {
                out.records += 1;
                out.refuse(line, expected);
            }
        }
    }

    /// Takes a line and says whether it stated a cost, or else what was expected.
    fn take(&mut self, line: &str) -> Result<bool, &'static str> {
        const GIVEN: &str = "a name, or the number of an earlier name";
        if line.is_empty() || line.starts_with('#') {
            return Ok(false);
        }
        let starts_name = line.as_bytes()[0].is_ascii_lowercase();
        if starts_name && let Some((key, value)) = line.split_once('=') {
            match key {
                "ob" => self.object = self.names.resolve(Space::Object, value).ok_or(GIVEN)?,
                "fn" => {
                    self.current = None;
                    let name = self.names.resolve(Space::Function, value).ok_or(GIVEN)?;
                    let object = self.object.clone();
                    self.current = Some((self.row(&name, object), recursion(&name).1));
                }
                "cob" => {
                    let object = self.names.resolve(Space::Object, value).ok_or(GIVEN)?;
                    self.callee_object = Some(object);
                }
                "cfn" => {
                    let name = self.names.resolve(Space::Function, value).ok_or(GIVEN)?;
                    self.callee = Some(name);
                }
                "calls" => return self.calls(value).map(|()| false),
                // Files do not matter, and where a jump went neither.
                "fl" | "fi" | "fe" | "cfi" | "cfl" | "jump" | "jcnd" | "rcalls" | "frfn" => {}
                _ => return Err("a line of a callgrind profile"),
            }
            return Ok(false);
        }
        if starts_name && let Some((key, value)) = line.split_once(':') {
            match key {
                "positions" => self.n_positions = value.split_ascii_whitespace().count().max(1),
                "totals" => {
                    let total = cost(value, 0, self.column).ok_or("a total for each event")?;
                    self.stated = Some(self.stated.unwrap_or(0).saturating_add(total));
                }
                _ => {}
            }
            return Ok(false);
        }
        let called = self.called.take();
        let cost = cost(line, self.n_positions, self.column).ok_or("positions, then costs")?;
        let (row, is_outermost) = self.current.ok_or("`fn=` before the first cost")?;
        let function = &mut self.functions[row];
        if called.is_none() {
            function.own = function.own.saturating_add(cost);
        }
        // The first level of a recursion holds what the deeper ones cost, be it as the cost of a
        // callee `f'2` or, where levels are not distinguished, as its own.
        if is_outermost && called != Some((row, true)) {
            function.inclusive = function.inclusive.saturating_add(cost);
        }
        Ok(true)
    }

    /// `calls=COUNT POSITIONS`: how often the callee was called from here. The next line states what
    /// that cost.
    fn calls(&mut self, value: &str) -> Result<(), &'static str> {
        let object = self.callee_object.take().unwrap_or_else(|| self.object.clone());
        let callee = self.callee.take().ok_or("`cfn=` before `calls=`")?;
        let count = value.split_ascii_whitespace().next().unwrap_or("");
        let count = text::decimal(count.as_bytes(), 0).ok_or("a number of calls")?;
        let row = self.row(&callee, object);
        self.functions[row].calls = self.functions[row].calls.saturating_add(count);
        self.called = Some((row, recursion(&callee).1));
        Ok(())
    }

    fn row(&mut self, name: &str, object: String) -> usize {
        let name = recursion(name).0.to_owned();
        let key = (name, object);
        if let Some(&row) = self.rows.get(&key) {
            return row;
        }
        let (name, object) = key.clone();
        self.functions.push(Function { name, object, ..Function::default() });
        self.rows.insert(key, self.functions.len() - 1);
        self.functions.len() - 1
    }

    /// The functions, in the order in which they were met.
    pub(super) fn finish(self) -> Vec<Function> {
        let total = self.functions.iter().fold(0_u64, |sum, f| sum.saturating_add(f.own));
        let mut functions = self.functions;
        for function in &mut functions {
            // Functions that call one another in a circle are counted more than once.
            function.inclusive = function.inclusive.clamp(function.own, total.max(function.own));
        }
        functions
    }
}

/// A name without the level of its recursion, and whether that is the first.
fn recursion(name: &str) -> (&str, bool) {
    match name.rsplit_once('\'') {
        Some((bare, level)) if !bare.is_empty() && text::decimal(level.as_bytes(), 0).is_some() => {
            (bare, false)
        }
        _ => (name, true),
    }
}
