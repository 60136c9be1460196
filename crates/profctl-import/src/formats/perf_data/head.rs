//! The head of a perf.data file: where its parts are, what was recorded, how events are laid out.
//!
//! ```text
//! magic "PERFILE2" (backwards on big-endian machines) · size of this head u64 · size of an
//! attribute u64 · sections (offset u64, size u64) of attributes, data, event types · 256 bits
//! of features; behind the data a section for each feature that is set
//! ```
//!
//! Source: `tools/perf/Documentation/perf.data-file-format.txt` of Linux.

use std::ops::Range;

use linux_perf_event_reader::{
    Endianness, PerfEventAttr, ReadFormat, RecordIdParseInfo, RecordParseInfo, SampleFormat,
};

use crate::bytes::Endian;

/// Bytes of the head.
pub(super) const HEAD: usize = 104;
/// The feature "the formats of tracepoints are in the file".
pub(super) const TRACING_DATA: usize = 1;
/// The feature "the file holds a processor trace".
pub(super) const AUXTRACE: usize = 18;
/// The feature "records are compressed".
pub(super) const COMPRESSED: usize = 27;
/// The type of an event that is a tracepoint.
const TRACEPOINT: u64 = 2;
/// More events than this are no recording: a damaged file may have any number.
pub(super) const EVENTS_MAX: u64 = 1 << 16;

/// The parts of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub(super) endian: Endian,
    pub(super) attribute_size: u64,
    pub(super) attributes: Range<u64>,
    pub(super) data: Range<u64>,
    features: [u64; 4],
}

/// An event that was recorded.
#[derive(Clone, Debug)]
pub(super) struct Attribute {
    pub(super) parse: RecordParseInfo,
    pub(super) ids: RecordIdParseInfo,
    /// The number of the tracepoint, if it is one.
    pub(super) tracepoint: Option<u32>,
    /// Where its ids stand.
    pub(super) id_section: Range<u64>,
}

impl Attribute {
    /// Whether the list of callers in a sample is within it. The parser multiplies its length,
    /// whatever that is, before it looks.
    pub(super) fn holds_callers(&self, sample: &[u8], endian: Endian) -> bool {
        self.callers_end(sample, endian).is_none_or(|end| end <= sample.len() as u64)
    }

    /// Where that list ends; nothing if there is none, or if the parser stops before it.
    fn callers_end(&self, sample: &[u8], endian: Endian) -> Option<u64> {
        let (sampled, read) = (self.parse.sample_format, self.parse.read_format);
        if !sampled.contains(SampleFormat::CALLCHAIN) {
            return None;
        }
        let before = SampleFormat::IDENTIFIER
            | SampleFormat::IP
            | SampleFormat::TID
            | SampleFormat::TIME
            | SampleFormat::ADDR
            | SampleFormat::ID
            | SampleFormat::STREAM_ID
            | SampleFormat::CPU
            | SampleFormat::PERIOD;
        let words = |at: u64, n: u64| at.checked_add(n.checked_mul(8)?);
        let number = |at: u64| number(sample, usize::try_from(at).ok()?, 8, endian);
        let mut at = words(0, u64::from((sampled & before).bits().count_ones()))?;
        if sampled.contains(SampleFormat::READ) {
            let times = ReadFormat::TOTAL_TIME_ENABLED | ReadFormat::TOTAL_TIME_RUNNING;
            let times = u64::from((read & times).bits().count_ones());
            let each = 1 + u64::from(read.contains(ReadFormat::ID));
            // As the parser takes them, which has the two kinds the other way round.
            let values = if read.contains(ReadFormat::GROUP) {
                each
            } else {
                number(at)?.checked_mul(each)?.checked_add(1)?
            };
            at = words(at, times.checked_add(values)?)?;
        }
        let n = number(at)?;
        Some(words(at, n.saturating_add(1)).unwrap_or(u64::MAX))
    }
}

/// Numbers of a file's byte order.
pub(super) fn number(bytes: &[u8], at: usize, size: usize, endian: Endian) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(size)?)?;
    Some(match endian {
        Endian::Little => crate::bytes::little(bytes),
        Endian::Big => crate::bytes::big(bytes),
    })
}

fn section(bytes: &[u8], at: usize, endian: Endian) -> Option<Range<u64>> {
    let offset = number(bytes, at, 8, endian)?;
    Some(offset..offset.checked_add(number(bytes, at + 8, 8, endian)?)?)
}

impl Head {
    /// Reads the first [`HEAD`] bytes. Nothing if they are none of perf.data; a pipe's head is
    /// shorter, and says so by its size.
    pub(super) fn new(bytes: &[u8]) -> Option<Self> {
        let endian = match bytes.get(..8)? {
            b"PERFILE2" => Endian::Little,
            b"2ELIFREP" => Endian::Big,
            _ => return None,
        };
        if number(bytes, 8, 8, endian)? < HEAD as u64 {
            return None;
        }
        let mut features = [0; 4];
        for (row, feature) in features.iter_mut().enumerate() {
            *feature = number(bytes, 72 + 8 * row, 8, endian)?;
        }
        Some(Self {
            endian,
            attribute_size: number(bytes, 16, 8, endian)?,
            attributes: section(bytes, 24, endian)?,
            data: section(bytes, 40, endian)?,
            features,
        })
    }

    pub(super) fn has(&self, feature: usize) -> bool {
        self.features[feature / 64] & (1 << (feature % 64)) != 0
    }

    /// Where the section that describes a feature stands.
    pub(super) fn feature(&self, feature: usize) -> Option<u64> {
        if !self.has(feature) {
            return None;
        }
        let below = (0..feature).filter(|&other| self.has(other)).count();
        self.data.end.checked_add(16 * below as u64)
    }

    /// Reads an attribute, and where its ids are.
    pub(super) fn attribute(&self, bytes: &[u8]) -> Option<Attribute> {
        let kind = number(bytes, 0, 4, self.endian)?;
        let config = number(bytes, 8, 8, self.endian)?;
        let end = usize::try_from(self.attribute_size).ok()?.checked_sub(16)?;
        let id_section = section(bytes, end, self.endian)?;
        let (endianness, parsed) = match self.endian {
            Endian::Little => (
                Endianness::LittleEndian,
                PerfEventAttr::parse::<_, byteorder::LittleEndian>(&bytes[..end]),
            ),
            Endian::Big => (
                Endianness::BigEndian,
                PerfEventAttr::parse::<_, byteorder::BigEndian>(&bytes[..end]),
            ),
        };
        let (attribute, _) = parsed.ok()?;
        Some(Attribute {
            parse: RecordParseInfo::new(&attribute, endianness),
            ids: RecordIdParseInfo::new(&attribute),
            tracepoint: (kind == TRACEPOINT).then_some(config as u32),
            id_section,
        })
    }
}
