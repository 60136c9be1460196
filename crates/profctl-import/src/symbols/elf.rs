//! The symbol tables of an ELF file: the full one, and the dynamic one that a stripped file keeps.

use object::{Architecture, File, Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};

use super::Entry;

/// Every symbol of the file that has an address.
pub(super) fn entries(bytes: &[u8]) -> Result<Vec<Entry>, String> {
    let file = File::parse(bytes)
        .map_err(|error| format!("a damaged ELF file ({error}), expected a complete one"))?;
    let symbols = file.symbols().chain(file.dynamic_symbols());
    Ok(symbols.filter_map(|symbol| entry(&file, &symbol)).collect())
}

fn entry<'a>(file: &File<'a>, symbol: &impl ObjectSymbol<'a>) -> Option<Entry> {
    let name = symbol.name().ok().filter(|name| !name.is_empty() && !super::is_mapping(name))?;
    let section = file.section_by_index(symbol.section_index()?).ok()?;
    let is_code = match symbol.kind() {
        SymbolKind::Text => true,
        // Assembler code seldom says that its labels are functions.
        SymbolKind::Label | SymbolKind::Unknown => section.kind() == SectionKind::Text,
        SymbolKind::Data | SymbolKind::Section => false,
        _ => return None,
    };
    let rank = match (is_code, symbol.is_weak(), symbol.is_global()) {
        (false, ..) => None,
        (true, false, true) => Some(0),
        (true, false, false) => Some(1),
        (true, true, _) => Some(2),
    };
    // The lowest bit of a Thumb function says which instruction set it is in.
    let is_thumb = file.architecture() == Architecture::Arm && is_code;
    let address = symbol.address() & if is_thumb { !1 } else { !0 };
    let size = Some(symbol.size()).filter(|&size| size > 0);
    Some(Entry { address, size, rank, name: name.to_owned() })
}
