//! `make-trace FORMAT SIZE [SEED]`: a generated trace of about that size (`200M`, `10G`) on standard
//! output; `make-trace probe-names [SEED]` is the name file for the format `probe`; `make-trace
//! uftrace|ctf SIZE DIRECTORY [SEED]` writes a directory; `make-trace ctf-symbols [SEED]` is the
//! listing of `nm` for the format `ctf`.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use profctl_testkit::generate::{
    LARGE_FORMATS, ctf_symbols, large_names, write_ctf, write_large, write_uftrace,
};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let seed = |text: Option<&&str>| text.map_or(Some(1), |text| text.parse().ok());
    let mut out = io::stdout().lock();
    let done = match words.as_slice() {
        ["probe-names", rest @ ..] if rest.len() <= 1 => {
            seed(rest.first()).map(|seed| out.write_all(large_names(seed).as_bytes()))
        }
        ["ctf-symbols", rest @ ..] if rest.len() <= 1 => {
            seed(rest.first()).map(|seed| out.write_all(ctf_symbols(seed).as_bytes()))
        }
        [format @ ("uftrace" | "ctf"), size, path, rest @ ..] if rest.len() <= 1 => {
            let size = bytes(size).zip(seed(rest.first()));
            size.map(|(size, seed)| directory(format, size, Path::new(path), seed))
        }
        [format, size, rest @ ..] if rest.len() <= 1 && LARGE_FORMATS.contains(format) => {
            let size = bytes(size).zip(seed(rest.first()));
            size.map(|(size, seed)| write_large(format, size, seed, &mut out).map(|_| ()))
        }
        _ => None,
    };
    match done {
        Some(Ok(())) => ExitCode::SUCCESS,
        // The reader closed the pipe.
        Some(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Some(Err(error)) => complain(&error.to_string(), 1),
        None => {
            let formats = LARGE_FORMATS.join("|");
            let usage = format!(
                "usage: make-trace {{{formats}}} SIZE [SEED]\n   or: make-trace uftrace|ctf SIZE DIRECTORY [SEED]"
            );
            complain(&usage, 2)
        }
    }
}

fn directory(format: &str, size: u64, path: &Path, seed: u64) -> io::Result<()> {
    fs::create_dir_all(path)?;
    let create = &mut |name: &str| -> io::Result<Box<dyn Write>> {
        Ok(Box::new(io::BufWriter::new(fs::File::create(path.join(name))?)))
    };
    let write = if format == "ctf" { write_ctf } else { write_uftrace };
    write(size, seed, create).map(|_| ())
}

fn complain(what: &str, code: u8) -> ExitCode {
    // Nothing is left to be done if even that fails.
    let _ = writeln!(io::stderr(), "make-trace: {what}");
    ExitCode::from(code)
}

/// `123`, `64K`, `200M` or `10G`, powers of ten.
fn bytes(text: &str) -> Option<u64> {
    let (digits, factor) = match text.chars().last()? {
        'K' => (&text[..text.len() - 1], 1_000),
        'M' => (&text[..text.len() - 1], 1_000_000),
        'G' => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}
