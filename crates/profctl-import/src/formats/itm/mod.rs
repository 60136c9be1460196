//! What a Cortex-M says over its trace pin: ITM stimulus writes, which are tags, and the exceptions
//! that the DWT reports, which are interrupts.
//!
//! Written after the ARMv7-M manual (DDI 0403, appendix D4). A packet does not record when it was
//! sent; the timestamp that follows does, so events wait for it.

use profctl_model::{Code, Severity, TickUnit};

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition};
use crate::files::Files;
use crate::tags::{self, Tags};

mod packet;
mod read;
#[cfg(test)]
mod tests;
mod tpiu;

use packet::{Packet, Packets};

/// The importer of `itm`.
pub struct Instrumentation;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "itm",
    about: "ARM ITM/DWT trace over SWO: stimulus writes as tags, exceptions as interrupts",
    recognized: "begins with a synchronization packet of ITM or of a TPIU around it",
    codes: &[&NO_TIMES, &DELAYED],
    ..Descriptor::PLAIN
};

/// A stream without times.
pub static NO_TIMES: Code = Code {
    name: "itm/no-times",
    severity: Severity::Warning,
    help: "the stream has no local timestamps, so every call has duration 0: enable them \
           (ITM_TCR.TSENA)",
};

/// A time that is not that of its events.
pub static DELAYED: Code = Code {
    name: "itm/delayed",
    severity: Severity::Info,
    help: "the trace pin was too slow: events or timestamps were delayed, so some times are \
           late; raise the rate of the pin, or trace less",
};

/// Tags have at most this many bits.
const TAG_BITS: u32 = 32;
/// The variants that `--dialect` may force.
const DIALECTS: [&str; 2] = ["bare", "tpiu"];

impl Importer for Instrumentation {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let head = probe.head;
        let unframed;
        let (mut rest, what) = if tpiu::is_framed(head) {
            unframed = tpiu::unframe(head);
            (&unframed[..], "frames of a TPIU")
        } else {
            (head, "a synchronization packet of ITM")
        };
        if !packet::is_synchronized(rest) {
            return Recognition::No;
        }
        let (mut n_times, mut n_others) = (0, 0);
        let mut packets = Packets::default();
        while !rest.is_empty() {
            let (packet, length) = packets.packet(rest);
            rest = &rest[length..];
            match packet {
                Packet::Time { .. } => n_times += 1,
                Packet::Reserved(_) => return Recognition::No,
                Packet::Synchronized | Packet::Cut => {}
                _ => n_others += 1,
            }
        }
        if n_times > 0 && n_others > 0 {
            return Recognition::Yes(format!("{what}, then packets"));
        }
        Recognition::No
    }

    fn open(&self, files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let head = &*super::head(files)?.bytes;
        let is_framed = match options.dialect.as_deref() {
            None => tpiu::is_framed(head),
            Some("bare") => false,
            Some("tpiu") => true,
            Some(other) => {
                let expected = DIALECTS.join(" or ");
                let message = format!("found dialect `{other}`, expected {expected}");
                return Err(ImportError::whole(message));
            }
        };
        let ports = ports(options.capture.tag.as_deref()).map_err(ImportError::whole)?;
        let names = match &options.names {
            None => Vec::new(),
            Some(file) => tags::parse(file, TAG_BITS)?,
        };
        let facts = vec![
            ("frames", if is_framed { "of a TPIU".into() } else { "none".into() }),
            ("ports", options.capture.tag.clone().unwrap_or_else(|| "all but 0".into())),
        ];
        Ok(Opened::in_turn(
            super::recorded(options.capture.clock.unwrap_or(TickUnit::Cycles)),
            Box::new(read::Stream { is_framed, ports, tags: Tags::new(names) }),
        )
        .with_facts(facts))
    }
}

/// Which stimulus ports carry tags.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Ports {
    /// Every port but the first, which programs print text to.
    AllButText,
    These(Vec<u32>),
}

impl Ports {
    fn include(&self, port: u32) -> bool {
        match self {
            Self::AllButText => port != 0,
            Self::These(ports) => ports.contains(&port),
        }
    }
}

/// `1`, `1,2`, `port1`.
fn ports(typed: Option<&str>) -> Result<Ports, String> {
    let Some(typed) = typed else { return Ok(Ports::AllButText) };
    let port = |item: &str| {
        let item = item.trim();
        let number = item.strip_prefix("port").unwrap_or(item).parse().ok();
        number.filter(|&port| port < 256)
    };
    let found: Option<Vec<u32>> = typed.split(',').map(port).collect();
    let wrong = || format!("found ports `{typed}`, expected numbers such as 1,2");
    found.map(Ports::These).ok_or_else(wrong)
}
