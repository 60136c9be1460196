//! Which format an input is of.

use crate::ReadOptions;
use crate::files::Files;
use crate::formats::FORMATS;
use crate::importer::{self, ImportError, Importer, Probe, Recognition};

/// How much of the head the formats are asked about.
const SNIFFED: usize = 64 << 10;

/// The format of `files`, and why it was treated as that.
pub(crate) fn recognize(
    files: &dyn Files,
    options: &ReadOptions,
) -> Result<(&'static dyn Importer, String), ImportError> {
    if let Some(name) = &options.format {
        let found = named(name).ok_or_else(|| {
            ImportError::whole(format!(
                "unknown format `{name}`, expected one of {}",
                format_names()
            ))
        })?;
        return Ok((found, "chosen by --input-format".into()));
    }
    let [_] = files.entries() else {
        return directory(files)
            .ok_or_else(|| ImportError::whole("is a directory that is not a trace"));
    };
    let head = importer::head(files)?;
    let sniffed = &head.bytes[..head.bytes.len().min(SNIFFED)];
    let whole = head.whole && sniffed.len() == head.bytes.len();
    let probe = Probe { name: files.name(), head: sniffed, whole };
    let mut maybe = None;
    let mut neighbor = None;
    for format in FORMATS {
        match format.recognize(&probe) {
            Recognition::Yes(reason) => return Ok((*format, reason)),
            Recognition::Maybe(reason) => maybe = maybe.or(Some((*format, reason))),
            Recognition::Neighbor(what) => neighbor = neighbor.or(Some(what)),
            Recognition::No => {}
        }
    }
    if let Some(found) = maybe {
        return Ok(found);
    }
    if options.import.names.is_some()
        && let Some(probe) = named("probe")
    {
        return Ok((probe, "no other format matches, and a name file was given".into()));
    }
    if let Some(what) = neighbor {
        return Err(ImportError::whole(what));
    }
    if head.bytes.is_empty() {
        return Err(ImportError::whole("is empty"));
    }
    let named_like = |format: &&&dyn Importer| {
        format.descriptor().extensions.iter().any(|ending| files.name().ends_with(ending))
    };
    if let Some(format) = FORMATS.iter().find(named_like) {
        let name = format.descriptor().name;
        let message = format!("unrecognized trace format; its name is that of {name}");
        return Err(ImportError::whole(message));
    }
    Err(ImportError::unrecognized(FORMATS.len()))
}

/// The format of a directory whose files are one trace, if they are.
pub fn directory(files: &dyn Files) -> Option<(&'static dyn Importer, String)> {
    FORMATS.iter().find_map(|format| match format.recognize_directory(files) {
        Recognition::Yes(reason) | Recognition::Maybe(reason) => Some((*format, reason)),
        Recognition::No | Recognition::Neighbor(_) => None,
    })
}

/// Whether an input has no byte at all.
pub(crate) fn is_empty(files: &dyn Files) -> Result<bool, ImportError> {
    let [_] = files.entries() else { return Ok(false) };
    Ok(importer::head(files)?.bytes.is_empty())
}

fn named(name: &str) -> Option<&'static dyn Importer> {
    FORMATS.iter().find(|format| format.descriptor().name == name).copied()
}

fn format_names() -> String {
    let names: Vec<_> = FORMATS.iter().map(|format| format.descriptor().name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests;
