//! What scheduler records say of a switch and of a waking, and how an event carries it.

use profctl_model::WakerContext;

use super::event::UNSTATED;

/// In what state a thread left its CPU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PrevState {
    /// Still runnable: preempted in user mode, or it yielded (Linux prints `R`).
    Runnable,
    /// Preempted in the kernel (Linux prints `R+`).
    Preempted,
    /// It waits and can be interrupted by a signal (`S`), or idles in the kernel (`I`, which
    /// `trace-cmd report` prints as `W`).
    Sleeping,
    /// It waits and cannot be interrupted (`D`, `K`).
    Uninterruptible,
    /// It was stopped or traced (`T`, `t`), or parked (`P`).
    Stopped,
    /// It has ended (`X`, `Z`).
    Dead,
    /// The letter is not known.
    Unknown(u8),
}

impl PrevState {
    /// The state after the letters that Linux prints, such as `S`, `R+` or `D|K`.
    pub fn from_linux(letters: &[u8]) -> Self {
        match letters {
            [b'R', b'+'] => Self::Preempted,
            [b'R', ..] => Self::Runnable,
            [b'S' | b'I' | b'W', ..] => Self::Sleeping,
            [b'D' | b'K', ..] => Self::Uninterruptible,
            [b'T' | b't' | b'P', ..] => Self::Stopped,
            [b'X' | b'Z' | b'x', ..] => Self::Dead,
            [letter, ..] => Self::Unknown(*letter),
            [] => Self::Unknown(b'?'),
        }
    }

    /// Whether the thread could have gone on running.
    pub fn is_runnable(self) -> bool {
        matches!(self, Self::Runnable | Self::Preempted)
    }

    pub(crate) fn pack(self) -> u64 {
        match self {
            Self::Sleeping => 0,
            Self::Runnable => 1,
            Self::Preempted => 2,
            Self::Uninterruptible => 3,
            Self::Stopped => 4,
            Self::Dead => 5,
            Self::Unknown(letter) => 6 | u64::from(letter) << 8,
        }
    }

    pub(crate) fn unpack(packed: u64) -> Self {
        match packed & 0xFF {
            _ if packed == UNSTATED => Self::Unknown(b'?'),
            0 => Self::Sleeping,
            1 => Self::Runnable,
            2 => Self::Preempted,
            3 => Self::Uninterruptible,
            4 => Self::Stopped,
            5 => Self::Dead,
            _ => Self::Unknown((packed >> 8) as u8),
        }
    }
}

/// Which record shows that a thread became runnable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum WakingKind {
    /// The waker asks for it (`sched_waking`); recorded on the waker's CPU.
    #[default]
    Waking,
    /// It is done (`sched_wakeup`); often recorded on the target's CPU.
    Wakeup,
    /// A new thread runs for the first time (`sched_wakeup_new`).
    WakeupNew,
}

/// What a record says of a waking.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Waking {
    /// Which record it is.
    pub kind: WakingKind,
    /// The CPU on which the thread is to run, if the record says.
    pub target_cpu: Option<u32>,
    /// The context of the waker.
    pub context: WakerContext,
}

impl Waking {
    pub(crate) fn pack(self) -> u64 {
        let kind = match self.kind {
            WakingKind::Waking => 0,
            WakingKind::Wakeup => 1,
            WakingKind::WakeupNew => 2,
        };
        let context = match self.context {
            WakerContext::Unknown => 0,
            WakerContext::Task => 1,
            WakerContext::HardIrq => 2,
            WakerContext::SoftIrq => 3,
            WakerContext::HardAndSoftIrq => 4,
        };
        let cpu = self.target_cpu.map_or(0, |cpu| u64::from(cpu) + 1);
        kind | context << 8 | cpu << 16
    }

    /// The inverse of what an event carries.
    pub fn unpack(packed: u64) -> Self {
        if packed == UNSTATED {
            return Self::default();
        }
        let kind = match packed & 0xFF {
            1 => WakingKind::Wakeup,
            2 => WakingKind::WakeupNew,
            _ => WakingKind::Waking,
        };
        let context = match packed >> 8 & 0xFF {
            1 => WakerContext::Task,
            2 => WakerContext::HardIrq,
            3 => WakerContext::SoftIrq,
            4 => WakerContext::HardAndSoftIrq,
            _ => WakerContext::Unknown,
        };
        let target_cpu = (packed >> 16 & 0x1_FFFF_FFFF).checked_sub(1).map(|cpu| cpu as u32);
        Self { kind, target_cpu, context }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_states_and_wakings_come_back() {
        for letters in [&b"R"[..], b"R+", b"S", b"D", b"I", b"T", b"t", b"X", b"Z", b"?", b"Q", b""]
        {
            let state = PrevState::from_linux(letters);
            assert_eq!(PrevState::unpack(state.pack()), state, "{letters:?}");
        }
        for kind in [WakingKind::Waking, WakingKind::Wakeup, WakingKind::WakeupNew] {
            for target_cpu in [None, Some(0), Some(7), Some(u32::MAX)] {
                for context in [
                    WakerContext::Unknown,
                    WakerContext::Task,
                    WakerContext::HardIrq,
                    WakerContext::SoftIrq,
                    WakerContext::HardAndSoftIrq,
                ] {
                    let waking = Waking { kind, target_cpu, context };
                    assert_eq!(Waking::unpack(waking.pack()), waking);
                }
            }
        }
    }
}
