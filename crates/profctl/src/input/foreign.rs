//! Recognizes files of other tools, with a hint how to get a trace from them.

/// What a file is, and what to do with it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    /// With an article.
    pub(crate) name: String,
    /// What to do, if there is a way.
    pub(crate) route: Option<String>,
}

/// Files that are identified by bytes at some offset: the offset, the bytes, what it is, what to
/// do.
const MAGIC: &[(usize, &[u8], &str, &str)] = &[
    (0, b"BZh", "a bzip2 archive", "decompress it first: `bunzip2 FILE`"),
    (0, b"\x04\x22\x4d\x18", "an lz4 archive", "decompress it first: `lz4 -d FILE`"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "extract the trace first: `7z x FILE`"),
    (0, b"PK\x03\x04", "a zip archive", "extract the trace first: `unzip FILE`"),
    (257, b"ustar", "a tar archive", "extract the trace first: `tar xf FILE`"),
    (0, b"\xd4\xc3\xb2\xa1", PCAP, ""),
    (0, b"\xa1\xb2\xc3\xd4", PCAP, ""),
    (0, b"\x4d\x3c\xb2\xa1", PCAP, ""),
    (0, b"\xa1\xb2\x3c\x4d", PCAP, ""),
    (0, b"\x0a\x0d\x0d\x0a", PCAP, ""),
    (0, b"FLR\0", "a Java Flight Recorder file, which holds samples and no function calls", ""),
    (0, b"PAR1", "a Parquet table", PARQUET),
    (0, b"SQLite format 3\0", "an SQLite database", ""),
    (0, b"gmon", "a gprof profile (gmon.out), which holds call counts and no times of calls", ""),
    (0, b"\x89PNG", "a PNG image", ""),
    (0, b"\xff\xd8\xff", "a JPEG image", ""),
    (0, b"%PDF", "a PDF document", ""),
    (0, b"\xff\xfe", "UTF-16 text", "convert it first: `iconv -f UTF-16 -t UTF-8 FILE`"),
    (0, b"\xfe\xff", "UTF-16 text", "convert it first: `iconv -f UTF-16 -t UTF-8 FILE`"),
];

#[cfg(feature = "tables")]
const PARQUET: &str = "save it as a file, not compressed";
#[cfg(not(feature = "tables"))]
const PARQUET: &str = "a build with SQL reads it if `profctl convert` wrote it";
const PCAP: &str = "a packet capture (pcap), which holds packets and no function calls";

/// JSON of other tools: a key of it, what it is, what to do.
const JSON: &[(&str, &str, &str)] = &[
    (
        "linux-perf-json-version",
        "JSON of `perf data convert`",
        "read `perf script` of the perf.data",
    ),
    ("resourceSpans", "an OpenTelemetry trace (OTLP)", SPANS),
    ("spans", "a trace of spans (Jaeger, OpenTelemetry)", SPANS),
    ("localEndpoint", "a Zipkin trace", SPANS),
    ("snapshot", "a heap snapshot, which holds memory and no function calls", ""),
    ("benchmarks", "results of benchmarks, which hold no function calls", ""),
];
const SPANS: &str = "convert each span to an `X` event of Chrome trace JSON (name, ts, dur, tid), \
                     and read that";

/// What a file that begins like this is, if it is known.
pub(crate) fn kind(name: &str, head: &[u8]) -> Option<Kind> {
    let kind = |name: &str, route: &str| {
        let route = Some(route).filter(|route| !route.is_empty());
        Some(Kind { name: name.to_owned(), route: route.map(str::to_owned) })
    };
    if head.starts_with(b"\x7fELF") {
        return elf(head);
    }
    let magic = MAGIC.iter().find(|(offset, magic, ..)| {
        head.get(*offset..).is_some_and(|rest| rest.starts_with(magic))
    });
    if let Some((_, _, name, route)) = magic {
        return kind(name, route);
    }
    if is_etl(head) || name.to_lowercase().ends_with(".etl") {
        return kind(
            "a Windows event trace (ETL)",
            "export its calls to Chrome trace JSON or a text log, and read that (with `--rule`)",
        );
    }
    let text = std::str::from_utf8(head).unwrap_or_default().trim_start();
    let lower = text.get(..64).unwrap_or(text).to_lowercase();
    if lower.starts_with("<!doctype html") || lower.starts_with("<html") {
        return kind("an HTML page", "");
    }
    if lower.starts_with("<?xml") {
        return kind("an XML document", "");
    }
    json(text)
}

/// Whether a file begins with a buffer header of Event Tracing for Windows, and in it the event that
/// describes the log.
fn is_etl(head: &[u8]) -> bool {
    const BUFFER_HEADER: usize = 72;
    let Some((size, event)) = head.first_chunk().zip(head.get(BUFFER_HEADER..BUFFER_HEADER + 4))
    else {
        return false;
    };
    let size = u32::from_le_bytes(*size);
    (1 << 10..=16 << 20).contains(&size) && size % 1024 == 0 && matches!(event, [2, 0, 1 | 2, 0xc0])
}

fn elf(head: &[u8]) -> Option<Kind> {
    let field: [u8; 2] = head.get(16..18)?.try_into().ok()?;
    let is_big = head.get(5) == Some(&2);
    let of_type = if is_big { u16::from_be_bytes(field) } else { u16::from_le_bytes(field) };
    let (name, route) = match of_type {
        4 => ("a core dump (ELF), which holds memory and no function calls", ""),
        1 => ("an object file or kernel module (ELF)", SYMBOLS),
        3 => ("a shared library or program (ELF)", SYMBOLS),
        _ => ("a program (ELF)", SYMBOLS),
    };
    let route = Some(route).filter(|route| !route.is_empty());
    Some(Kind { name: name.to_owned(), route: route.map(str::to_owned) })
}

const SYMBOLS: &str = "give it as `--symbols FILE` beside a trace of addresses";

/// JSON that is not one of the known kinds.
fn json(text: &str) -> Option<Kind> {
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let schema = text
        .split_once("\"schema\"")
        .and_then(|(_, rest)| rest.trim_start().strip_prefix(':'))
        .and_then(|rest| rest.trim_start().strip_prefix('"')?.split('"').next());
    if let Some(schema) = schema.filter(|schema| schema.starts_with("profctl.")) {
        return Some(Kind {
            name: format!("a report of profctl ({schema})"),
            route: Some("only `summarize --format json` is read back (profctl.summary/1)".into()),
        });
    }
    let has = |key: &str| {
        let key = format!("\"{key}\"");
        text.match_indices(&key).any(|(at, _)| text[at + key.len()..].trim_start().starts_with(':'))
    };
    if let Some((_, name, route)) = JSON.iter().find(|(key, ..)| has(key)) {
        let route = Some(*route).filter(|route| !route.is_empty());
        return Some(Kind { name: (*name).to_owned(), route: route.map(str::to_owned) });
    }
    let second = text[1..].trim_start().chars().next();
    second.filter(|c| matches!(c, '"' | '{' | '[' | '}' | ']')).map(|_| Kind {
        name: "JSON of an unknown kind".to_owned(),
        route: Some(
            "Chrome traces, speedscope, V8 CPU and Firefox profiles are read; of other JSON, one \
             record per line by a rule: `--rule RULE`"
                .into(),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_tools_are_named() {
        let core = [b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0", &b"\x04\0\x3e\0"[..]].concat();
        let etl = [&b"\0\0\x01\0"[..], &[0; 68], b"\x02\0\x02\xc0\x18\x01"].concat();
        let tar = [&[b'x'; 257][..], b"ustar\0"].concat();
        for (name, head, expected) in [
            ("a", &b"BZh91AY"[..], "a bzip2 archive"),
            ("a", &etl, "a Windows event trace (ETL)"),
            ("a", b"\xa1\xb2\x3c\x4d\0\x02", PCAP),
            ("a", b"PK\x03\x04", "a zip archive"),
            ("a", b"\x0a\x0d\x0d\x0a\x1c", PCAP),
            ("a.ETL", b"\0\0\x01\0", "a Windows event trace (ETL)"),
            ("a", &core, "a core dump (ELF), which holds memory and no function calls"),
            ("a", &tar, "a tar archive"),
            ("a", b"{\"schema\": \"profctl.diff/1\"", "a report of profctl (profctl.diff/1)"),
            ("a", b"[ {\"x\": 1} ]", "JSON of an unknown kind"),
            ("a", b"{\"resourceSpans\": []}", "an OpenTelemetry trace (OTLP)"),
            ("a", b"{\"x\": \"resourceSpans\"}", "JSON of an unknown kind"),
            ("a", b"[12:33:01] hello", ""),
            ("a", b"dear diary", ""),
        ] {
            let found = kind(name, head).map_or_else(String::new, |kind| kind.name);
            assert_eq!(found, expected, "{name}");
        }
    }
}
