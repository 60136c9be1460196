//! What the plain format reads, it writes such that it reads the same again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use profctl_import::emit::{Emitter, Event, EventKind, ThreadKey};
use profctl_import::formats::plain::{Plain, write};
use profctl_import::{ImportOptions, Importer};

fuzz_target!(|bytes: &[u8]| {
    // There is no way to write a double quote in a name, and names that are no UTF-8 change.
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(opened) = Plain.open(bytes, &ImportOptions::default()) else {
        return;
    };
    let read = |text: &str| {
        let mut said = Emitter::default();
        opened
            .reader
            .fork()
            .read(text.as_bytes(), true, &opened.state, &mut said);
        said
    };
    let first = read(text);
    let is_spelt = |name: &str| !name.contains('"');
    let threads_are_spelt = first.lanes.iter().all(|lane| match &lane.thread {
        ThreadKey::Tid(_, name) | ThreadKey::Named(name) | ThreadKey::Member { name, .. } => {
            is_spelt(name)
        }
        ThreadKey::Unstated | ThreadKey::Idle => true,
    });
    if !threads_are_spelt || !first.names.iter().all(|func| is_spelt(&func.name)) {
        return;
    }
    let written = write(&first, &opened.timebase);
    let second = read(&written);
    assert!(second.diags.is_empty(), "{written}{:?}", second.diags);
    assert_eq!(told(&second), told(&first), "{written}");
});

/// Events with their references resolved.
fn told(block: &Emitter) -> Vec<String> {
    let event = |event: &Event| {
        let refers = matches!(
            event.kind,
            EventKind::RunsNow | EventKind::Switch | EventKind::Wake
        );
        let other = usize::try_from(event.extra).ok().filter(|_| refers);
        let other = other.and_then(|row| block.lanes.get(row));
        let extra = if refers { 0 } else { event.extra };
        let Event {
            kind,
            time,
            duration,
            depth,
            ..
        } = event;
        let lane = &block.lanes[event.lane.0 as usize];
        let func = &block.names[event.name.0 as usize];
        format!("{kind:?} {time} {duration} {extra} {depth} {lane:?} {other:?} {func:?}")
    };
    block.events.iter().map(event).collect()
}
