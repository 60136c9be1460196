//! Programs and libraries: where they are mapped, and which function an address is in.

use std::sync::Arc;

use super::{Fields, Name, Part};
use crate::symbols::{Symbols, demangled};

/// A program or library that is mapped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Module {
    pub(crate) base: u64,
    pub(crate) size: u64,
    pub(crate) path: String,
    /// Whether its symbols count from its base.
    pub(crate) is_relative: bool,
}

impl Module {
    /// The module that an event describes.
    pub(crate) fn of(event: &impl Fields) -> Option<Self> {
        let path = event.text(Part::Own, Name::Path).unwrap_or_default();
        Some(Self {
            base: event.number(Part::Own, Name::Base)?,
            size: event.number(Part::Own, Name::MemorySize)?,
            path: String::from_utf8_lossy(&path).into_owned(),
            is_relative: event.number(Part::Own, Name::IsPic) != Some(0),
        })
    }

    /// Its path without folders.
    fn file(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    /// Ordered by base.
    by_base: Vec<Module>,
    /// The base of the program.
    program: u64,
    symbols: Option<Arc<Symbols>>,
    keeps_mangled: bool,
}

impl Modules {
    /// The modules that were reported, and what the user said of the program's symbols.
    pub(crate) fn new(
        mut modules: Vec<Module>,
        symbols: Option<Arc<Symbols>>,
        keeps_mangled: bool,
    ) -> Self {
        modules.retain(|module| module.size > 0 && !module.path.starts_with('['));
        // The others are libraries.
        let is_program = |module: &&Module| !module.file().contains(".so");
        let program = modules.iter().find(is_program).or(modules.first());
        let program = program.map_or(0, |module| module.base);
        modules.sort_by_key(|module| module.base);
        modules.dedup_by_key(|module| module.base);
        Self { by_base: modules, program, symbols, keeps_mangled }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.by_base.len()
    }

    /// The function at `address`, and the file that it is in. One without a name is called by its
    /// place.
    pub(crate) fn function(&self, address: u64) -> (String, Option<String>) {
        let behind = self.by_base.partition_point(|module| module.base <= address);
        let module = behind.checked_sub(1).map(|row| &self.by_base[row]);
        let module = module.filter(|module| address - module.base < module.size);
        let symbol = self.symbols.as_ref().and_then(|symbols| {
            let place = match module {
                Some(module) if module.base != self.program => return None,
                Some(module) if module.is_relative => address - module.base,
                Some(_) | None => address,
            };
            symbols.lookup(place).or_else(|| symbols.lookup(address))
        });
        let file = module.map(|module| module.file().to_owned());
        let name = match (symbol, module, &file) {
            (Some((name, _)), ..) if self.keeps_mangled => name.to_owned(),
            (Some((name, _)), ..) => demangled(name),
            (None, Some(module), Some(file)) => format!("{file}+0x{:x}", address - module.base),
            _ => format!("0x{address:x}"),
        };
        (name, file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_by_symbol_module_or_number() {
        let module = |base, size, path: &str, is_relative| Module {
            base,
            size,
            path: path.into(),
            is_relative,
        };
        let modules = vec![
            module(0x5000, 0x100, "/lib/libc.so", true),
            module(0x6000, 0, "[vdso]", true),
            module(0x7000, 0x100, "/bin/app", true),
        ];
        let symbols = Symbols::parse(b"0010 T main\n0020 T _Z3addil\n0030 D end\n").unwrap();
        let known = Modules::new(modules.clone(), Some(Arc::new(symbols)), false);
        let named = |name: &str, file: Option<&str>| (name.to_owned(), file.map(str::to_owned));
        assert_eq!(known.function(0x7015), named("main", Some("app")));
        assert_eq!(known.function(0x7020), named("add(int, long)", Some("app")));
        assert_eq!(known.function(0x5010), named("libc.so+0x10", Some("libc.so")));
        assert_eq!(known.function(0x9000), named("0x9000", None));
        let unknown = Modules::new(modules, None, false);
        assert_eq!(unknown.function(0x7015), named("app+0x15", Some("app")));
    }
}
