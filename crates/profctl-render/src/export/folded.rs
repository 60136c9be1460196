//! Folded stacks: a line for every path of callers that has net time, depth first, callees of one
//! caller sorted by name.

use std::io::{self, Write};

use profctl_model::{Names, PathOrder, PathRows};

use super::{FRAMES_MAX, Header};

/// Paths by the names in their lines: functions of one name share them.
pub fn order(names: &Names) -> PathOrder {
    PathOrder::by(names, |_, func| frame(&func.name))
}

/// Writes the net time of each path, in the unit that reports carry. Paths without any are omitted,
/// threads are added together.
pub fn write(header: &Header<'_>, paths: &mut PathRows<'_>, out: &mut dyn Write) -> io::Result<()> {
    let timebase = &header.meta.timebase;
    let mut path = String::new();
    // Where each frame of it ends.
    let mut ends: Vec<usize> = Vec::new();
    for row in paths {
        let row = row?;
        ends.truncate((row.depth as usize).min(FRAMES_MAX - 1));
        path.truncate(ends.last().copied().unwrap_or(0));
        if !path.is_empty() {
            path.push(';');
        }
        path.push_str(&frame(&header.names.funcs[row.func].name));
        ends.push(path.len());
        let net = timebase.reported(row.net);
        if net > 0 {
            writeln!(out, "{path} {net}")?;
        }
    }
    Ok(())
}

/// A name without what separates frames and lines, and what begins a comment.
fn frame(name: &str) -> String {
    let name = name.replace(';', ":").replace(['\n', '\r'], " ");
    match name.trim() {
        "" => "(unnamed)".into(),
        name if name.starts_with('#') => format!("_{name}"),
        name => name.into(),
    }
}
