//! What holds for any records in any dialect.

use proptest::prelude::*;

use super::dialect::{DIALECTS, Dialect, System};
use super::encode::{Said, What, can_say, encode};
use super::tests::{FIXTURES, NOW, forced, load, show_calls};
use super::{Ktrace, detect, payload, syscalls};
use crate::bytes::Endian;
use crate::emit::{Emitter, Record, ThreadKey};
use crate::formats::plain::show::read;
use crate::testing::{ImporterOfBytes, verbs};

/// Any record that some dialect has.
fn any_said() -> impl Strategy<Value = Said> {
    let number = || prop_oneof![Just(3_u16), Just(54), 0_u16..700];
    let what = prop_oneof![
        (number(), 0_usize..5).prop_map(|(number, arguments)| What::Call { number, arguments }),
        (number(), any::<bool>()).prop_map(|(number, failed)| What::Return { number, failed }),
        "[a-z/.]{1,40}".prop_map(What::Path),
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(What::Data),
        (1_u32..40).prop_map(What::Signal),
        any::<(bool, bool)>().prop_map(|(out, preempted)| What::Switch { out, preempted }),
        Just(What::Fault),
        Just(What::FaultEnd),
        "(pf[<>] ?)?[a-z_]{1,20}".prop_map(What::User),
        Just(What::Emulation("netbsd")),
        Just(What::Start),
    ];
    let comm = proptest::sample::select(&["demo", "sh", "sixteen-chars-xx"][..]);
    (what, 1_u32..5, 0_u32..3, comm, 0_u64..1 << 40, any::<bool>()).prop_map(
        |(what, pid, cpu, comm, time, dropped)| Said {
            what,
            pid,
            thread: pid + 100_000,
            cpu,
            comm,
            time: NOW + time,
            dropped,
        },
    )
}

/// What the reader must say of `said`: kind, name, thread, CPU, time.
fn expected(dialect: &Dialect, said: &Said) -> Vec<(&'static str, String, Option<u64>)> {
    let time = if dialect.nanos { said.time } else { said.time / 1_000 * 1_000 };
    let time = Some(time);
    let mut events = Vec::new();
    if said.dropped && dialect.system == System::FreeBsd {
        events.push(("lost", String::new(), time));
    }
    let number = |number: u16| {
        let listed = syscalls::name(dialect.system, syscalls::Abi::Native, number);
        listed.map_or_else(|| format!("[{number}]"), str::to_owned)
    };
    let (kind, name) = match &said.what {
        What::Call { number: n, .. } => (">", number(*n)),
        What::Return { number: n, .. } => ("<", number(*n)),
        What::Path(_) => ("!", "namei".into()),
        What::Signal(n) => {
            let name = payload::signal(*n).map_or_else(|| format!("SIG{n}"), str::to_owned);
            ("!", name)
        }
        What::Switch { .. } => {
            events.push(("switch", String::new(), time));
            return events;
        }
        What::Fault => (">", "page_fault".into()),
        What::FaultEnd => ("<", "page_fault".into()),
        What::User(text) => match text.split_at_checked(3) {
            Some(("pf>", name)) => (">", name.trim().into()),
            Some(("pf<", name)) => ("<", name.trim().into()),
            _ => ("!", "utrace".into()),
        },
        What::Data(_) | What::Emulation(_) | What::Abi(_) | What::ProcessEnd | What::Start => {
            return events;
        }
    };
    if name == "utrace" && kind != "!" {
        return events;
    }
    events.push((kind, name, time));
    events
}

proptest! {
    #[test]
    fn any_records_read_back(
        which in 0..DIALECTS.len(),
        big: bool,
        records in proptest::collection::vec(any_said(), 1..30),
        block_size in 1_usize..600,
    ) {
        let endian = if big { Endian::Big } else { Endian::Little };
        let dialect = DIALECTS[which].on(endian);
        let records: Vec<Said> = records
            .into_iter()
            .filter(|said| can_say(&dialect, &said.what))
            .map(|said| Said { dropped: said.dropped && dialect.system == System::FreeBsd, ..said })
            .collect();
        prop_assume!(!records.is_empty());
        let bytes = encode(&dialect, endian, &records);
        let options = forced(&dialect.full_name(endian));
        let said = read(&Ktrace, &bytes, &options);
        prop_assert_eq!(said.records, records.len() as u64);
        prop_assert!(said.diags.is_empty());
        let found = verbs(&said);
        let wanted: Vec<_> = records.iter().flat_map(|said| expected(&dialect, said)).collect();
        prop_assert_eq!(found, wanted);
        check_lanes(&dialect, &records, &said)?;
        prop_assert_eq!(
            show_calls(&load(&bytes, options.clone(), block_size, 2)),
            show_calls(&load(&bytes, options, 0, 1))
        );
    }

    #[test]
    fn garbage_is_refused_or_read(bytes: Vec<u8>, which in 0..DIALECTS.len(), big: bool) {
        let _ = Ktrace.recognize_bytes(&bytes, true);
        let endian = if big { Endian::Big } else { Endian::Little };
        let options = forced(&DIALECTS[which].full_name(endian));
        let said = read(&Ktrace, &bytes, &options);
        prop_assert!(said.said().len() <= bytes.len());
    }

    #[test]
    fn damaged_records_are_refused_or_read(
        which in 0..FIXTURES.len(),
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..20),
        block_size in 1_usize..600,
    ) {
        let mut bytes = FIXTURES[which].1.to_vec();
        let found = detect::best(&bytes, true).expect("a fixture");
        let dialect = found.dialect.full_name(found.endian);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let read = |block_size, workers| {
            show_calls(&load(&bytes, forced(&dialect), block_size, workers))
        };
        prop_assert_eq!(read(block_size, 3), read(0, 1));
    }
}

/// Every event is on the thread and CPU of its record.
fn check_lanes(dialect: &Dialect, records: &[Said], said: &Emitter) -> Result<(), TestCaseError> {
    let mut said_records = said.said();
    for record in records {
        for (kind, ..) in expected(dialect, record) {
            let (at, found) = said_records.next().expect("as many records as expected");
            let lane = match (found, &record.what) {
                (Record::SchedSwitch { prev: Some(left), .. }, What::Switch { out: true, .. }) => {
                    left
                }
                _ => at.lane,
            };
            let lane = &said.lanes[lane.0 as usize];
            let cpu = dialect.layout.cpu.map(|_| record.cpu).filter(|_| kind != "lost");
            prop_assert_eq!(lane.cpu, cpu);
            if kind == "lost" {
                prop_assert_eq!(&lane.thread, &ThreadKey::Unstated);
                continue;
            }
            let tid = match dialect.system {
                _ if dialect.layout.thread.is_none() => u64::from(record.pid),
                _ => u64::from(record.thread),
            };
            prop_assert_eq!(&lane.thread, &ThreadKey::Tid(tid, record.comm.into()));
        }
    }
    prop_assert!(said_records.next().is_none());
    Ok(())
}
