//! Tables of `docs/statistics.md` that programs write.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::{fs, io};

/// The page, seen from the repository.
pub const PAGE: &str = "docs/statistics.md";

/// A block of the page: its name, and the line that heads its table.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// The name in its marks.
    pub name: &'static str,
    /// The columns.
    pub columns: &'static str,
}

/// The whole gate where nothing changed, and with changes, by kind of noise.
pub const SIMULATED: Block = Block {
    name: "calibrate_gate",
    columns: "| noise | red, % | red with `--strict`, % | inconclusive, % | found, % | false |",
};

/// Recorded runs of equal builds, assigned to two sides.
pub const DEALT: Block = Block {
    name: "calibrate_real permuted",
    columns: "| runs | comparisons | red | red, % | by | inconclusive |",
};

/// Changes planted in recorded runs.
pub const PLANTED: Block = Block {
    name: "calibrate_real planted",
    columns: "| change | planted | right answer, % | cause named first, % | verdicts on the function |",
};

/// Steps planted in series of builds.
pub const HISTORY: Block = Block {
    name: "calibrate_history",
    columns: "| noise, builds | method | 3 %: found, % | 5 % | 10 % | 50 % | precision, % | distance | false |",
};

/// All of them.
pub const BLOCKS: [Block; 4] = [SIMULATED, DEALT, PLANTED, HISTORY];

impl Block {
    fn marks(self) -> [String; 2] {
        ["begin", "end"].map(|mark| format!("<!-- {mark} {} -->\n", self.name))
    }

    /// What the page says there.
    pub fn find(self, page: &str) -> Option<&str> {
        let [begin, end] = self.marks();
        let rest = page.split_once(&begin)?.1;
        Some(rest.split_once(&end)?.0)
    }

    /// The page with `text` there.
    pub fn replaced(self, page: &str, text: &str) -> Option<String> {
        let [begin, end] = self.marks();
        let (before, rest) = page.split_once(&begin)?;
        let after = rest.split_once(&end)?.1;
        Some(format!("{before}{begin}{text}{end}{after}"))
    }

    /// Writes `text` there in the page at `path`.
    ///
    /// # Errors
    /// If the page cannot be read or written, or has no such block.
    #[expect(clippy::disallowed_methods, reason = "for programs of their own")]
    pub fn write(self, path: &Path, text: &str) -> io::Result<()> {
        let page = fs::read_to_string(path)?;
        let missing = || io::Error::other(format!("{}: no block {}", path.display(), self.name));
        fs::write(path, self.replaced(&page, text).ok_or_else(missing)?)
    }
}

impl Block {
    /// The `main` of the program of that name: `NAME [--write] [REPEATS [LINE]]`. `table` prints the lines
    /// whose name contains LINE and returns them; `--write` puts them into the page.
    pub fn main(
        self,
        repeats: u64,
        table: impl FnOnce(u64, &str, &mut io::StdoutLock<'_>) -> io::Result<String>,
    ) -> ExitCode {
        let mut arguments: Vec<String> = std::env::args().skip(1).collect();
        let n = arguments.len();
        arguments.retain(|argument| argument != "--write");
        let is_for_page = arguments.len() < n;
        let repeats = arguments.first().map_or(Ok(repeats), |text| text.parse());
        let (Ok(repeats), 0..=2) = (repeats, arguments.len()) else {
            let _ = writeln!(io::stderr(), "usage: {} [--write] [REPEATS [LINE]]", self.name);
            return ExitCode::from(2);
        };
        let only = arguments.get(1).map_or("", String::as_str);
        let written = table(repeats, only, &mut io::stdout().lock())
            .and_then(|text| if is_for_page { self.write(Path::new(PAGE), &text) } else { Ok(()) });
        ended(self.name, written)
    }
}

/// How a program ends. A closed output is no error.
pub fn ended(program: &str, result: io::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{program}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What a block says whose program has not run since what it measures was changed.
pub const NOT_MEASURED: &str = "Not measured with this version.\n";

/// The standard error of a share of `n`, in percent; of none or all as if one were different.
pub fn error_percent(count: u64, n: u64) -> f64 {
    let n = n.max(1) as f64;
    let share = (count as f64).clamp(1.0_f64.min(n / 2.0), (n - 1.0).max(n / 2.0)) / n;
    100.0 * (share * (1.0 - share) / n).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_what_the_programs_wrote() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
        let page = fs::read_to_string(page).unwrap();
        for block in BLOCKS {
            let text = block.find(&page).unwrap_or_else(|| panic!("no block {}", block.name));
            if text == NOT_MEASURED {
                continue;
            }
            let mut lines = text.lines().skip_while(|line| *line != block.columns).skip(2);
            let rows: Vec<&str> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
            assert!(!rows.is_empty(), "{}: no table with these columns", block.name);
            let columns = block.columns.matches('|').count();
            for row in rows {
                assert_eq!(row.matches('|').count(), columns, "{row}");
            }
        }
    }

    #[test]
    fn a_block_is_replaced_and_nothing_else() {
        let page = "a\n<!-- begin calibrate_gate -->\nold\n<!-- end calibrate_gate -->\nb\n";
        let new = SIMULATED.replaced(page, "new\n").unwrap();
        assert_eq!(new, page.replace("old", "new"));
        assert_eq!(SIMULATED.find(&new), Some("new\n"));
        assert_eq!(DEALT.replaced(page, ""), None);
    }
}
