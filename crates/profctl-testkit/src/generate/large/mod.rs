//! Traces of any size for benchmarks, made as fast as a disk takes them.
//!
//! One endless walk up and down the stacks of a few tasks, rendered line by line: nothing is kept
//! but the open calls, so a hundred gigabytes cost the memory of one.

mod ctf;
mod logs;
mod measureme;
mod more;
mod sched;
mod text;
mod trace_dat;
mod uftrace;
mod walk;

use std::io::{self, Write};

pub use ctf::{ctf_symbols, write_ctf};
use text::Text;
pub use uftrace::{Create, write_uftrace};
use walk::{TASKS, Walk};

/// The formats that can be made, by name.
pub const LARGE_FORMATS: [&str; 19] = [
    "function_graph",
    "function_graph-abstime-proc",
    "plain",
    "mcrae",
    "probe",
    "kdump",
    "strace",
    "vcd",
    "saleae",
    "sigrok",
    "gem5",
    "chrome",
    "perfetto",
    "speedscope",
    "folded",
    "trace_dat",
    "ftrace-sched",
    "perf_script",
    "measureme",
];
/// Formats with a single stack.
const OF_ONE_STACK: [&str; 7] = ["mcrae", "probe", "vcd", "saleae", "sigrok", "gem5", "speedscope"];

const CPUS: usize = 4;
/// Bytes collected before they are written.
const CHUNK: usize = 1 << 20;

/// Writes about `bytes` bytes (whole lines or records, never more than one call too many) of
/// `format` to `out`, and says how many events that were.
pub fn write_large(format: &str, bytes: u64, seed: u64, out: &mut impl Write) -> io::Result<u64> {
    if format == "trace_dat" {
        return trace_dat::write(bytes, seed, out);
    }
    if format == "ftrace-sched" {
        return sched::write(bytes, seed, out);
    }
    if format == "measureme" {
        return measureme::write(bytes, seed, out);
    }
    let mut walk = Walk::new(seed, if OF_ONE_STACK.contains(&format) { 1 } else { CPUS });
    let mut text = Text { names: walk.names.clone(), out: Vec::with_capacity(2 * CHUNK) };
    let render: fn(&mut Text, &mut Walk) = match format {
        "function_graph" => |text, walk| text.graph(walk, false),
        "function_graph-abstime-proc" => |text, walk| text.graph(walk, true),
        "plain" => Text::plain,
        "mcrae" => Text::code_trace,
        "probe" => |text, walk| text.tags(walk, Text::record),
        "vcd" => |text, walk| text.tags(walk, Text::value_changes),
        "saleae" => |text, walk| text.tags(walk, Text::saleae_rows),
        "sigrok" => |text, walk| text.tags(walk, Text::sigrok_rows),
        "kdump" => Text::kdump,
        "strace" => Text::strace,
        "perf_script" => Text::perf_script,
        "gem5" => Text::gem5,
        "chrome" => Text::chrome,
        "perfetto" => Text::perfetto,
        "speedscope" => Text::speedscope,
        "folded" => Text::folded,
        _ => {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no such format"));
        }
    };
    text.out.extend_from_slice(match format {
        "function_graph" => b"# tracer: function_graph\n#\n# CPU  DURATION                  FUNCTION CALLS\n# |     |   |                     |   |   |   |\n",
        "function_graph-abstime-proc" => b"# tracer: function_graph\n#\n#     TIME        CPU  TASK/PID         DURATION                  FUNCTION CALLS\n#      |          |     |    |           |   |                     |   |   |   |\n",
        "plain" => b"# profctl plain 1 unit=ns\n",
        "chrome" => b"{\"traceEvents\":[",
        _ => b"",
    });
    text.begin(format);
    let mut written = 0;
    while written + (text.out.len() as u64) < bytes {
        render(&mut text, &mut walk);
        if text.out.len() >= CHUNK {
            out.write_all(&text.out)?;
            written += text.out.len() as u64;
            text.out.clear();
        }
    }
    text.end(format, walk.time);
    out.write_all(&text.out)?;
    Ok(walk.steps)
}

/// The names that [`write_large`] uses for `seed`, as a name file for its probe records.
pub fn large_names(seed: u64) -> String {
    let walk = Walk::new(seed, 1);
    let line = |(n, name): (usize, &String)| format!("{name}/{}\n", 2 * n);
    walk.names.iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle;

    #[test]
    fn a_size_is_kept_and_a_seed_gives_one_text() {
        for format in LARGE_FORMATS {
            let mut once = Vec::new();
            let mut again = Vec::new();
            let events = write_large(format, 200_000, 5, &mut once).unwrap();
            assert_eq!(write_large(format, 200_000, 5, &mut again).unwrap(), events);
            assert_eq!(once, again, "{format}");
            assert!((200_000..400_000).contains(&once.len()), "{format}: {}", once.len());
        }
    }

    #[test]
    fn the_graph_is_sound() {
        for format in ["function_graph", "function_graph-abstime-proc"] {
            let mut text = Vec::new();
            write_large(format, 2_000_000, 1, &mut text).unwrap();
            let report = oracle::function_graph::evaluate(&text);
            assert_eq!(
                (report.unread_lines, report.lost_exits, report.clamped),
                (0, 0, 0),
                "{format}"
            );
            assert_eq!(report.unmatched_exits, 0, "{format}");
            let lines = text.split(|&byte| byte == b'\n').count();
            let per_line = text.len() / lines;
            let calls: u64 = report.functions.values().map(|totals| totals.calls).sum();
            assert!((45..90).contains(&per_line), "{format}: {per_line} bytes a line");
            assert!(calls > lines as u64 / 2, "{format}: {calls} calls in {lines} lines");
        }
    }
}
