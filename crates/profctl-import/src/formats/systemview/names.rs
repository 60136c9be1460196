//! What is called what in a recording.

use std::collections::BTreeSet;
use std::io::Read;

use profctl_model::hash::FastMap;

use super::packet::{self, Packet, Packets, SYNC, Said};
use crate::emit::Emitter;
use crate::formats::Input;
use crate::text;

/// Names by number.
#[derive(Default)]
pub(super) struct Names {
    pub(super) tasks: FastMap<u32, String>,
    pub(super) interrupts: FastMap<u32, String>,
    pub(super) markers: FastMap<u32, String>,
    /// Timers, queues and other resources.
    pub(super) resources: FastMap<u32, String>,
    /// What the ids of API calls are called.
    pub(super) calls: FastMap<u32, String>,
    /// API calls whose end is recorded; others are instants.
    pub(super) ended: BTreeSet<u32>,
    /// Timestamps a second.
    pub(super) frequency: Option<u64>,
    /// What the system says of itself.
    pub(super) system: Option<String>,
}

/// Collects the names in a recording that begins with `head`.
pub(super) fn read(head: &[u8], recording: Box<dyn Read + Send>) -> Names {
    let mut names = Names::default();
    let mut ignore = |_: &mut Emitter, _: &[u8], _: u64| {};
    let (mut input, mut out) = (Input::new(recording, Some(&mut ignore)), Emitter::default());
    let mut packets = Packets::new(head, &mut input);
    while let Some((packet, length)) = packets.next(&mut input) {
        let is_nonsense = matches!(packet, Packet::Nonsense);
        if let Packet::Said(said) = packet {
            // A packet too short for what it is to say does not name anything.
            let _ = names.take(&said);
        }
        input.consume(length);
        if is_nonsense {
            input.skip_to(SYNC, &mut out);
        }
        input.hand_on(&mut out);
    }
    names
}

impl Names {
    fn take(&mut self, said: &Said<'_>) -> Option<()> {
        let &Said { id, mut numbers, .. } = said;
        match id {
            packet::TASK_INFO => {
                let (task, _priority) = (numbers.number()?, numbers.number()?);
                self.tasks.insert(task, readable(numbers.string()?));
            }
            packet::INIT => {
                let frequency = numbers.number()?;
                self.frequency = (frequency > 0).then_some(frequency.into());
            }
            packet::SYSTEM => self.describe(&readable(numbers.string()?)),
            packet::RESOURCE => {
                self.resources.insert(numbers.number()?, readable(numbers.string()?));
            }
            packet::MODULE => {
                let (_module, first) = (numbers.number()?, numbers.number()?);
                self.module(first, &readable(numbers.string()?));
            }
            packet::EXTENDED if numbers.number()? == packet::NAME_OF_MARKER => {
                self.markers.insert(numbers.number()?, readable(numbers.string()?));
            }
            packet::END_CALL => {
                self.ended.insert(numbers.number()?);
            }
            _ => {}
        }
        Some(())
    }

    /// `N=Application,D=Device,O=FreeRTOS,I#15=SysTick`: only interrupts have numbers.
    fn describe(&mut self, description: &str) {
        for item in description.split(',') {
            let Some((key, name)) = item.split_once('=') else { continue };
            let number = key.trim().strip_prefix("I#").and_then(|number| number.parse().ok());
            if let Some(number) = number {
                self.interrupts.insert(number, name.trim().into());
            } else if key.trim() == "N" {
                self.system = Some(name.trim().into());
            }
        }
    }

    /// `M=FreeRTOS,0 vTaskDelay ticks=%u,1 …`: numbers count from the first id of the module.
    fn module(&mut self, first: u32, description: &str) {
        for item in description.split(',') {
            let mut words = item.split_ascii_whitespace();
            let number = words.next().and_then(|number| number.parse::<u32>().ok());
            if let (Some(number), Some(name)) = (number, words.next()) {
                self.calls.insert(first.saturating_add(number), name.into());
            }
        }
    }
}

fn readable(name: &[u8]) -> String {
    text::excerpt(name)
}
