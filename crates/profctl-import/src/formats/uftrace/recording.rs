//! The contents of the text files of a recording: which function an address is in, in which
//! program, at which time.

use std::sync::Arc;

use super::args::{Specs, Values};
use super::info::{Feature, Info};
use super::symbols::{self, Linkage, Mapping, Table};
use super::tasks::{Tasks, base};
use crate::symbols::{Symbols, demangled};

/// A mapping with the functions in it.
#[derive(Clone, Debug)]
struct Region {
    mapping: Mapping,
    table: Option<usize>,
}

/// The address space of a session.
#[derive(Clone, Debug, Default)]
struct Space {
    /// By address.
    regions: Vec<Region>,
    /// Libraries that were loaded later: time, base, table, path.
    loaded: Vec<(u64, u64, Option<usize>, String)>,
}

/// A session from one library that it loads to the next: in it, an address means one function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Scope {
    space: usize,
    loaded: usize,
}

/// A function that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Found {
    pub(super) name: String,
    pub(super) module: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Recording {
    tables: Vec<Table>,
    spaces: Vec<Space>,
    scopes: Vec<Scope>,
    specs: Specs,
    /// Whether tables count addresses from the start of the mapping.
    is_relative: bool,
    /// What `--symbols` holds, for what has no table.
    symbols: Option<Arc<Symbols>>,
    keeps_mangled: bool,
}

/// From when on a thread is in which scope, in time order.
pub(super) type Scopes = Vec<(u64, u32)>;

impl Recording {
    /// `maps` are the files of mappings by session, `tables` the files of symbols.
    pub(super) fn new(info: &Info, tasks: &Tasks, maps: &[Vec<u8>], tables: Vec<Table>) -> Self {
        let table_of = |mapping: &Mapping| {
            let owned =
                || (0..tables.len()).filter(|&n| symbols::belongs(&tables[n].owner, mapping));
            // Of files of one name that do not say of which build they are.
            let same = |n: &usize| tables[*n].owner.path.as_deref() == Some(&mapping.path);
            owned().find(same).or_else(|| owned().next())
        };
        let space = |(session, file): (&super::tasks::Session, &Vec<u8>)| {
            let region = |mapping: Mapping| Region { table: table_of(&mapping), mapping };
            let regions = symbols::mappings(file).into_iter().map(region).collect();
            let loaded = session.loaded.iter().map(|library| {
                let path = library.path.clone();
                let mapping = Mapping { start: 0, end: 0, path: path.clone(), build_id: None };
                (library.time, library.base, table_of(&mapping), path)
            });
            Space { regions, loaded: loaded.collect() }
        };
        let spaces: Vec<Space> = tasks.sessions.iter().zip(maps).map(space).collect();
        let scopes = spaces.iter().enumerate().flat_map(|(index, space)| {
            (0..=space.loaded.len()).map(move |loaded| Scope { space: index, loaded })
        });
        Self {
            scopes: scopes.collect(),
            specs: Specs::of(info),
            is_relative: info.has(Feature::RelativeSymbols),
            tables,
            spaces,
            symbols: None,
            keeps_mangled: false,
        }
    }

    /// The same with the symbols that the user gave, and names as they are in the files.
    pub(super) fn with_options(self, symbols: Option<Arc<Symbols>>, keeps_mangled: bool) -> Self {
        Self { symbols, keeps_mangled, ..self }
    }

    /// The scopes that a thread goes through.
    pub(super) fn scopes_of(&self, tasks: &Tasks, tid: u64) -> Scopes {
        let mut scopes = Vec::new();
        let sessions = tasks.sessions_of(tid);
        for (n, &(from, session)) in sessions.iter().enumerate() {
            let until = sessions.get(n + 1).map_or(u64::MAX, |next| next.0);
            for (row, scope) in self.scopes.iter().enumerate() {
                if scope.space != session {
                    continue;
                }
                let loaded = &self.spaces[session].loaded;
                let start = scope.loaded.checked_sub(1).map_or(from, |last| loaded[last].0);
                if start < until || scope.loaded == 0 {
                    scopes.push((start.max(from), row as u32));
                }
            }
        }
        scopes
    }

    /// Whether nothing is known of data after records.
    pub(super) fn has_specs(&self) -> bool {
        !self.specs.is_empty()
    }

    /// The data after the records of the function at `address`.
    pub(super) fn values(&self, scope: u32, address: u64) -> Values {
        // Specifications are of names as the files have them.
        let name = self.symbol(scope, address).0.map(|(name, _)| name);
        name.map(|name| self.specs.values(name)).unwrap_or_default()
    }

    /// The function at `address`, by its name in the file, and the file it is mapped from.
    fn symbol(&self, scope: u32, address: u64) -> (Option<(&str, Linkage)>, Option<&str>) {
        let Some(scope) = self.scopes.get(scope as usize) else { return (None, None) };
        let space = &self.spaces[scope.space];
        let behind = space.regions.partition_point(|region| region.mapping.start <= address);
        let region = behind.checked_sub(1).map(|row| &space.regions[row]);
        let region = region.filter(|region| address < region.mapping.end);
        let own = region.and_then(|region| {
            let table = &self.tables[region.table?];
            let relative = address - region.mapping.start;
            let found = if self.is_relative {
                table.find(relative)
            } else {
                table.find(address).or_else(|| table.find(relative))
            };
            found.map(|symbol| (symbol, region.mapping.path.as_str()))
        });
        let found = own.or_else(|| {
            let mut loaded = space.loaded[..scope.loaded].iter().rev();
            loaded.find_map(|(_, base, table, path)| {
                let symbol = self.tables[(*table)?].find(address.checked_sub(*base)?)?;
                Some((symbol, path.as_str()))
            })
        });
        if let Some((symbol, path)) = found {
            return (Some((&symbol.name, symbol.linkage)), Some(path));
        }
        let path = region.map(|region| region.mapping.path.as_str());
        let start = region.map_or(0, |region| region.mapping.start);
        let given = self.symbols.as_ref().and_then(|symbols| {
            let relative = symbols.lookup(address - start);
            relative.or_else(|| symbols.lookup(address)).map(|(name, _)| (name, Linkage::Own))
        });
        (given, path)
    }

    /// The function at `address`; one without a name is called by its address.
    pub(super) fn function(&self, scope: u32, address: u64) -> Found {
        let (symbol, path) = self.symbol(scope, address);
        let module = path.map(|path| base(path).to_owned());
        match symbol {
            Some((name, linkage)) => Found {
                name: if self.keeps_mangled { name.to_owned() } else { demangled(name) },
                // It is known from where it is called, not where it is.
                module: module.filter(|_| linkage == Linkage::Own),
            },
            None => Found { name: format!("0x{address:x}"), module },
        }
    }

    /// How many functions the files name.
    pub(super) fn functions(&self) -> usize {
        self.tables.iter().map(Table::len).sum()
    }
}
