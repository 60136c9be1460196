//! Calls from a program counter: which function an address is in, and what its moves mean.
//!
//! A bus shows addresses, not calls. The first instruction of a function is treated as its entry;
//! any other instruction of a function that is open further out is a return to it.

use profctl_model::FuncKind;

use super::UNKNOWN_ADDRESS;
use crate::emit::{At, Emitter, Stated};
use crate::importer::ImportError;
use crate::options::ImportOptions;
use crate::symbols::Symbols;

/// Open calls that are remembered; of more, the outermost are forgotten.
const DEPTH_MAX: usize = 4096;

/// Reads a symbol file.
pub(super) fn read_symbols(options: &ImportOptions) -> Result<Symbols, ImportError> {
    let Some(file) = options.symbols.as_deref() else {
        return Err(ImportError::whole(
            "no symbol file, expected `--symbols FILE`, an ELF file or the output of nm",
        ));
    };
    Symbols::read(file, options.no_demangle)
        .map_err(|error| ImportError::whole(format!("symbol file: {error}")))
}

/// Says what it means that the program counter is now `address`. `open` is where the functions
/// begin that are open, the innermost last.
pub(super) fn step(
    symbols: &Symbols,
    address: u64,
    at: At,
    open: &mut Vec<u64>,
    out: &mut Emitter,
) {
    let Some((name, behind)) = symbols.lookup(address) else {
        out.diag(&UNKNOWN_ADDRESS, at.offset, || format!("found program counter {address:#x}"));
        return;
    };
    let start = address - behind;
    if behind == 0 {
        let entered = out.func(name, FuncKind::Function);
        out.enter(at, entered, Stated::NOTHING);
        if open.len() == DEPTH_MAX {
            open.remove(0);
        }
        open.push(start);
        return;
    }
    // Where nothing is open that it could have come back to, it began before the capture did.
    let kept = open.iter().rposition(|&other| other == start).map_or(0, |at| at + 1);
    for &left in open[kept..].iter().rev() {
        if let Some((name, _)) = symbols.lookup(left) {
            let left = out.func(name, FuncKind::Function);
            out.exit(at, Some(left), Stated::NOTHING);
        }
    }
    open.truncate(kept);
    if kept == 0 {
        open.push(start);
    }
}
