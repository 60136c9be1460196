//! Records as events.

use std::sync::Arc;

use linux_perf_event_reader::{
    EventRecord, RawData, RawEventRecord, RecordType, SampleRecord, get_record_id,
};
use profctl_model::Ticks;
use profctl_model::diag::codes::{CUT_RECORD, SKIPPED_RECORD};
use profctl_model::hash::FastMap;

use super::SAMPLES_LEFT_OUT;
use super::head::{Attribute, number};
use crate::bytes::Endian;
use crate::emit::{At, Emitter, LaneKey, ThreadKey, ThreadName};
use crate::formats::{Block, Reader, State};
use crate::kernel_events::record::Decoder;
use crate::kernel_events::{Applier, IrqNames, Place, Task, context_of_flags};
use crate::sort::Order;

/// Bytes before what a record says: its type, flags and size.
const RECORD_HEAD: usize = 8;

/// What is known of a recording.
#[derive(Debug)]
pub(super) struct Recording {
    pub(super) endian: Endian,
    pub(super) attributes: Vec<Attribute>,
    /// The row of `attributes` by id.
    pub(super) of_id: FastMap<u64, usize>,
    /// Tracepoints by number.
    pub(super) decoders: FastMap<u32, Decoder>,
}

/// Reads records.
pub(super) struct Records {
    pub(super) recording: Arc<Recording>,
    pub(super) applier: Applier,
    pub(super) order: Order,
}

/// What has to be remembered from one block to the next.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Progress {
    irqs: IrqNames,
    /// A record's size cannot be: where the next one begins is not known.
    is_lost: bool,
}

impl Reader for Records {
    fn order(&self) -> Order {
        self.order
    }

    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self {
            recording: Arc::clone(&self.recording),
            applier: self.applier.fork(),
            order: self.order,
        })
    }

    fn boundary(&self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while let Some(size) = number(bytes, at + 6, 2, self.recording.endian) {
            let size = size as usize;
            if size < RECORD_HEAD {
                return bytes.len();
            }
            if at + size > bytes.len() {
                break;
            }
            at += size;
        }
        at
    }

    fn read(&mut self, block: &Block<'_>, state: &State, out: &mut Emitter) -> Option<State> {
        let before = state.downcast_ref::<Progress>().cloned().unwrap_or_default();
        let mut is_lost = before.is_lost;
        self.applier.set_irqs(&before.irqs);
        let mut at = 0;
        while !is_lost && at < block.bytes.len() {
            let bytes = &block.bytes[at..];
            let size = number(bytes, 6, 2, self.recording.endian).map(|size| size as usize);
            match size {
                Some(size) if size < RECORD_HEAD => {
                    out.records += 1;
                    out.diag(&SKIPPED_RECORD, at, || {
                        format!(
                            "a record of {size} bytes, expected 8 or more: the rest was not \
                                 read"
                        )
                    });
                    is_lost = true;
                }
                Some(size) if size <= bytes.len() => {
                    out.records += 1;
                    self.record(&bytes[..size], at, out);
                    at += size;
                }
                _ => {
                    out.records += 1;
                    out.diag(&CUT_RECORD, at, || "the last record is truncated".into());
                    break;
                }
            }
        }
        let after = Progress { irqs: self.applier.irqs().clone(), is_lost };
        (after != before).then(|| Arc::new(after) as State)
    }
}

impl Records {
    fn record(&mut self, bytes: &[u8], offset: usize, out: &mut Emitter) {
        let recording = Arc::clone(&self.recording);
        let endian = recording.endian;
        let kind = number(bytes, 0, 4, endian).unwrap_or(0) as u32;
        let misc = number(bytes, 4, 2, endian).unwrap_or(0) as u16;
        let kind = RecordType(kind);
        // Maps and perf's own records are not about calls; some of them, damaged, would stop the
        // parser.
        if !matches!(kind, RecordType::SAMPLE | RecordType::COMM | RecordType::LOST) {
            return;
        }
        let data = RawData::from(&bytes[RECORD_HEAD..]);
        let Some(first) = recording.attributes.first() else { return };
        let id = match endian {
            Endian::Little => get_record_id::<byteorder::LittleEndian>(kind, data, &first.ids),
            Endian::Big => get_record_id::<byteorder::BigEndian>(kind, data, &first.ids),
        };
        let row = id.and_then(|id| recording.of_id.get(&id)).copied().unwrap_or(0);
        let Some(attribute) = recording.attributes.get(row) else { return };
        if kind == RecordType::SAMPLE && !attribute.holds_callers(&bytes[RECORD_HEAD..], endian) {
            out.diag(&SKIPPED_RECORD, offset, || {
                "a sample with more callers than it has space for".into()
            });
            return;
        }
        let raw = RawEventRecord::new(kind, misc, data, attribute.parse);
        let parsed = raw.parse();
        let common = raw.common_data().unwrap_or_default();
        match parsed {
            Ok(EventRecord::Sample(sample)) => self.sample(&sample, attribute, offset, out),
            Ok(EventRecord::Comm(comm)) => {
                let name = comm.name.as_slice();
                if let Ok(tid @ 1..) = u64::try_from(comm.tid) {
                    let lane = self.applier.lane(None, Task { tid, name: &name }, out);
                    let tid = Some(tid);
                    out.name_thread(lane, offset, ThreadName { tid, ..ThreadName::default() });
                }
            }
            Ok(EventRecord::Lost(lost)) => {
                let thread = ThreadKey::Unstated;
                let lane = out.lane(LaneKey { cpu: common.cpu, thread });
                out.lost(At { time: common.timestamp, lane, offset }, Some(lost.count));
            }
            Ok(_) => {}
            Err(_) => out.diag(&SKIPPED_RECORD, offset, || {
                format!("a record of type {} that is too short for its contents", kind.0)
            }),
        }
    }

    fn sample(
        &mut self,
        sample: &SampleRecord<'_>,
        attribute: &Attribute,
        offset: usize,
        out: &mut Emitter,
    ) {
        let recording = Arc::clone(&self.recording);
        let decoder = attribute.tracepoint.and_then(|number| recording.decoders.get(&number));
        let (Some(raw), Some(decoder)) = (sample.raw, decoder) else {
            out.diag(&SAMPLES_LEFT_OUT, offset, || "a sample without a tracepoint".into());
            return;
        };
        let raw = raw.as_slice();
        let Some(event) = decoder.event(&raw, recording.endian) else {
            out.diag(&SKIPPED_RECORD, offset, || {
                format!("a record of {} that is too short for its fields", decoder.format.name)
            });
            return;
        };
        let tid = sample.tid.and_then(|tid| u64::try_from(tid).ok());
        let lane = match tid {
            Some(tid) => self.applier.lane(sample.cpu, Task { tid, name: b"" }, out),
            None => out.lane(LaneKey { cpu: sample.cpu, thread: ThreadKey::Unstated }),
        };
        let flags = decoder.format.common.flags.get(&raw, recording.endian).unwrap_or(0);
        let place = Place {
            time: sample.timestamp,
            cpu: sample.cpu,
            lane,
            context: context_of_flags(flags),
            offset,
        };
        if !self.applier.apply(&event, &place, out) {
            let mut arguments = String::new();
            decoder.arguments(&raw, recording.endian, |_| None, &mut arguments);
            let name = format!("{}:{}", decoder.format.system, decoder.format.name);
            self.applier.mark(name.as_bytes(), &arguments, place.at(), out);
        }
    }
}

/// The clock of perf, which counts nanoseconds.
pub(super) const RESOLUTION: Ticks = Ticks(1);
