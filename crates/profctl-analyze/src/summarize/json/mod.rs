//! A profile as a file: `profctl.summary/1`, described in `docs/schemas/summary-1.md`.
//!
//! The file carries nanoseconds (or counts) and says how many of them make a tick, so that a clock
//! of microseconds comes back as one; a clock finer than a nanosecond, or no multiple of it, is
//! rounded to it on the way out.

mod read;
mod write;

use serde::{Deserialize, Serialize};

use profctl_model::diag::Sample;
use profctl_model::{DiagLog, Place};

use super::{Diagnostic, Profile, Quality};

const SCHEMA: &str = "profctl.summary/1";
/// What stands for a histogram of elapsed times that is that of net times.
const SAME_HISTOGRAM: &str = "=";

#[derive(Serialize, Deserialize)]
pub(super) struct ProfileFile {
    pub(super) schema: String,
    #[serde(default)]
    pub(super) sources: Vec<SourceFile>,
    pub(super) timebase: TimebaseFile,
    pub(super) totals: TotalsFile,
    pub(super) quality: Option<QualityFile>,
    pub(super) functions: Vec<FunctionFile>,
    /// Places in `functions` of a caller and a callee, calls, and their net time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) call_graph: Option<Vec<[u64; 4]>>,
    pub(super) by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) runs: Option<Vec<RunFile>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) paths: Option<PathsFile>,
}

/// The call paths of one run.
#[derive(Serialize, Deserialize)]
pub(super) struct PathsFile {
    /// Names and modules.
    pub(super) functions: Vec<(String, Option<String>)>,
    /// Place of the function, place of the caller counted from 1 or 0 for none, calls, partial,
    /// elapsed, net, the last two of complete calls, and the interrupts in those.
    pub(super) nodes: Vec<[u64; 9]>,
}

/// One of the runs of a profile: a profile of its own, with its name.
#[derive(Serialize, Deserialize)]
pub(super) struct RunFile {
    pub(super) name: String,
    pub(super) block: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) facts: Vec<(String, String)>,
    pub(super) profile: ProfileFile,
}

#[derive(Serialize, Deserialize)]
pub(super) struct SourceFile {
    pub(super) path: String,
    pub(super) format: String,
    pub(super) bytes: u64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct TimebaseFile {
    pub(super) unit: String,
    pub(super) resolution: u64,
    pub(super) timeline: String,
    pub(super) tick: Option<u64>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct TotalsFile {
    pub(super) real: u64,
    pub(super) lanes: u64,
    pub(super) busy: u64,
    pub(super) idle: u64,
    pub(super) calls: u64,
    pub(super) partial: u64,
    pub(super) events: u64,
    pub(super) functions: u64,
    pub(super) threads: u64,
    pub(super) capacity: Option<u64>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct QualityFile {
    pub(super) complete: bool,
    pub(super) lost_events: Option<u64>,
    pub(super) gaps: u64,
    pub(super) unmatched_exits: u64,
    pub(super) unclosed_entries: u64,
    pub(super) forced_exits: u64,
    pub(super) skipped_records: u64,
    pub(super) backwards: u64,
    pub(super) clamped: u64,
    pub(super) diagnostics: Vec<DiagnosticFile>,
    #[serde(default)]
    pub(super) cut_records: u64,
    #[serde(default)]
    pub(super) damaged: u64,
}

/// A kind of diagnostic, also in what other files say of a trace.
#[derive(Serialize, Deserialize)]
pub(crate) struct DiagnosticFile {
    pub(crate) code: String,
    pub(crate) severity: String,
    pub(crate) count: u64,
    #[serde(default)]
    pub(crate) samples: Vec<SampleFile>,
}

/// One place of it.
#[derive(Serialize, Deserialize)]
pub(crate) struct SampleFile {
    source: String,
    offset: u64,
    line: Option<u64>,
    message: String,
}

impl From<SampleFile> for Sample {
    fn from(file: SampleFile) -> Self {
        let SampleFile { source, offset, line, message } = file;
        Self { place: Place { source, offset, line }, message }
    }
}

impl From<&Diagnostic> for DiagnosticFile {
    fn from(diagnostic: &Diagnostic) -> Self {
        let sample = |sample: &Sample| SampleFile {
            source: sample.place.source.clone(),
            offset: sample.place.offset,
            line: sample.place.line,
            message: sample.message.clone(),
        };
        Self {
            code: diagnostic.code.clone(),
            severity: diagnostic.severity.name().into(),
            count: diagnostic.count,
            samples: diagnostic.samples.iter().map(sample).collect(),
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct FunctionFile {
    pub(super) name: String,
    pub(super) module: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) calls: u64,
    pub(super) partial: u64,
    pub(super) wall: u64,
    pub(super) off_cpu: Option<u64>,
    pub(super) elapsed: u64,
    pub(super) net: u64,
    pub(super) stolen: u64,
    pub(super) interrupted: Option<u64>,
    pub(super) net_min: Option<u64>,
    pub(super) net_avg: Option<u64>,
    pub(super) net_max: Option<u64>,
    pub(super) net_stddev: Option<u64>,
    pub(super) net_p50: Option<u64>,
    pub(super) net_p90: Option<u64>,
    pub(super) net_p99: Option<u64>,
    pub(super) elapsed_min: Option<u64>,
    pub(super) elapsed_avg: Option<u64>,
    pub(super) elapsed_max: Option<u64>,
    pub(super) elapsed_p50: Option<u64>,
    pub(super) elapsed_p90: Option<u64>,
    pub(super) elapsed_p99: Option<u64>,
    pub(super) real_pct: Option<f64>,
    pub(super) net_pct: Option<f64>,
    pub(super) histogram: Option<String>,
    pub(super) elapsed_histogram: Option<String>,
    pub(super) net_sum: Option<u64>,
    pub(super) net_squares: Option<String>,
    pub(super) elapsed_sum: Option<u64>,
    pub(super) elapsed_squares: Option<String>,
    pub(super) counted: Option<u64>,
    pub(super) idle: Option<u64>,
    pub(super) outermost: Option<u64>,
    pub(super) callees: Option<u64>,
    pub(super) descendants: Option<u64>,
}

/// The quality of a trace, as every document carries it.
pub(crate) fn quality_json(diags: &DiagLog) -> serde_json::Value {
    serde_json::to_value(write::write_quality(&Quality::of(diags))).unwrap_or_default()
}

impl Profile {
    /// The profile as JSON, on one line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.to_file()).expect("only strings, integers and floats")
    }

    fn to_file(&self) -> ProfileFile {
        if let Some(tick) = self.units_per_tick() {
            return write::file(self, tick);
        }
        let mut copy = self.clone();
        copy.convert_to_reported_unit();
        write::file(&copy, 1)
    }

    /// Reads a profile back. The figures that follow from others are not read but made again.
    pub fn from_json(bytes: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Head {
            schema: String,
        }
        let expected = |found: String| format!("{found}, expected a saved profile ({SCHEMA})");
        let wrong = |schema: &str| expected(format!("schema is {schema:?}"));
        let file: ProfileFile = serde_json::from_slice(bytes).map_err(|error| {
            // A file of another schema lacks fields, which is not what is wrong with it.
            match serde_json::from_slice::<Head>(bytes) {
                Ok(head) if head.schema != SCHEMA => wrong(&head.schema),
                Ok(_) => expected(error.to_string()),
                Err(error) => expected(error.to_string()),
            }
        })?;
        if file.schema != SCHEMA {
            return Err(wrong(&file.schema));
        }
        read::profile(file)
    }
}
