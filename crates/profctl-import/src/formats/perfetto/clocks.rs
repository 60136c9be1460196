//! Clocks: of the system, and sequence-scoped ones, which may be incremental.

use profctl_model::hash::FastMap;

use super::wire::Fields;

/// The clock of packets that name none: the time since boot.
pub(super) const BOOT_TIME: u32 = 6;
/// The clock of times that events state themselves.
pub(super) const MONOTONIC: u32 = 3;

/// How clocks are read.
#[derive(Clone, Default, Debug)]
pub(super) struct Clocks {
    known: FastMap<u32, Clock>,
}

/// One clock.
#[derive(Clone, Copy, Debug)]
struct Clock {
    /// What it was ahead of the trace's clock by, nanoseconds.
    ahead: i128,
    /// Nanoseconds a step.
    step: u64,
    /// Whether each packet says how much passed since the one before.
    is_incremental: bool,
    /// The latest reading.
    latest: u64,
}

/// A reading of a clock in a snapshot.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClockReading {
    pub(super) id: u32,
    time: u64,
    step: u64,
    is_incremental: bool,
}

impl ClockReading {
    pub(super) fn nanoseconds(&self) -> i128 {
        i128::from(self.time) * i128::from(self.step)
    }

    /// Whether only the packets of one writer use it.
    pub(super) fn is_of_sequence(&self) -> bool {
        is_of_sequence(self.id)
    }
}

/// Whether only the packets of one writer use the clock.
pub(super) fn is_of_sequence(id: u32) -> bool {
    (64..128).contains(&id)
}

/// The readings of a snapshot, and the clock of the trace, if stated.
pub(super) fn readings(snapshot: &[u8]) -> (Vec<ClockReading>, Option<u32>) {
    let (mut readings, mut primary) = (Vec::new(), None);
    for (number, value) in Fields::of(snapshot) {
        match (number, value.bytes()) {
            (1, Some(clock)) => {
                let mut reading = ClockReading { id: 0, time: 0, step: 1, is_incremental: false };
                for (number, value) in Fields::of(clock) {
                    let Some(value) = value.number() else { continue };
                    match number {
                        1 => reading.id = u32::try_from(value).unwrap_or(0),
                        2 => reading.time = value,
                        3 => reading.is_incremental = value != 0,
                        4 => reading.step = value.max(1),
                        _ => {}
                    }
                }
                readings.push(reading);
            }
            (2, None) => primary = value.number().and_then(|id| u32::try_from(id).ok()),
            _ => {}
        }
    }
    (readings, primary)
}

impl Clocks {
    /// What `reading` is by the clock of the trace.
    pub(super) fn by_trace(&self, reading: &ClockReading) -> Option<i128> {
        let clock = self.known.get(&reading.id)?;
        Some(reading.nanoseconds() - clock.ahead)
    }

    /// Takes a reading made when the clock of the trace stood at `time` nanoseconds.
    pub(super) fn learn(&mut self, reading: &ClockReading, time: i128) {
        let ClockReading { id, step, is_incremental, .. } = *reading;
        let ahead = reading.nanoseconds() - time;
        self.known.insert(id, Clock { ahead, step, is_incremental, latest: reading.time });
    }

    /// The time of the trace at which a packet was stamped `stamp` by clock `id`; nothing if the
    /// clock is unknown.
    pub(super) fn time(&self, id: u32, stamp: u64) -> Option<u64> {
        let clock = self.known.get(&id)?;
        let stamp = if clock.is_incremental { clock.latest.wrapping_add(stamp) } else { stamp };
        let time = i128::from(stamp) * i128::from(clock.step) - clock.ahead;
        Some(time.clamp(0, i128::from(u64::MAX - 1)) as u64)
    }

    /// Whether a packet stamped by clock `id` moves it on.
    pub(super) fn is_incremental(&self, id: u32) -> bool {
        self.known.get(&id).is_some_and(|clock| clock.is_incremental)
    }

    /// Moves an incremental clock on.
    pub(super) fn step(&mut self, id: u32, stamp: u64) {
        if let Some(clock) = self.known.get_mut(&id) {
            clock.latest = clock.latest.wrapping_add(stamp);
        }
    }
}
