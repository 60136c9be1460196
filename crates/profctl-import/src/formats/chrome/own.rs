//! What our own export says under the key `profctl`: at the beginning of the file about the clock,
//! in the `args` of an event about the call. The page of the format lists the keys.

use profctl_model::{Fidelity, FuncKind, TickUnit, Ticks};

use crate::emit::{Account, UNSTATED};
use crate::json::{Scanner, Stop, Text, scaled};
use crate::text::decimal;

/// What is said at the beginning of a file.
#[derive(Clone, Debug)]
pub(super) struct Own {
    /// What a tick counts.
    pub(super) unit: TickUnit,
    pub(super) resolution: Option<Ticks>,
    pub(super) synthetic: bool,
    /// Whether the input told when threads were switched out.
    pub(super) knows_off_cpu: bool,
    /// The first and the last time.
    pub(super) span: Option<(u64, u64)>,
    /// Whether the file is ours at all.
    pub(super) ours: bool,
}

impl Default for Own {
    fn default() -> Self {
        Self {
            unit: super::NANOSECOND,
            resolution: None,
            synthetic: false,
            knows_off_cpu: false,
            span: None,
            ours: false,
        }
    }
}

fn number(scanner: &mut Scanner<'_>) -> Result<u64, Stop> {
    decimal(scanner.scalar()?, 0).ok_or(Stop::Expected("a whole number"))
}

fn flag(scanner: &mut Scanner<'_>) -> Result<bool, Stop> {
    Ok(scanner.scalar()? == b"true")
}

impl Own {
    pub(super) fn parse(scanner: &mut Scanner<'_>) -> Result<Self, Stop> {
        let mut own = Self { ours: true, ..Self::default() };
        let (mut first, mut last) = (None, None);
        let (mut numerator, mut denominator) = (None, None);
        scanner.object(|scanner, key| {
            match key.raw {
                b"unit" => match scanner.string()?.raw {
                    b"cycles" => own.unit = TickUnit::Cycles,
                    b"instructions" => own.unit = TickUnit::Instructions,
                    _ => {}
                },
                b"numerator" => numerator = Some(number(scanner)?).filter(|&n| n > 0),
                b"denominator" => denominator = Some(number(scanner)?).filter(|&n| n > 0),
                b"resolution" => own.resolution = Some(Ticks(number(scanner)?.max(1))),
                b"synthetic" => own.synthetic = flag(scanner)?,
                b"off_cpu" => own.knows_off_cpu = flag(scanner)?,
                b"first" => first = Some(number(scanner)?),
                b"last" => last = Some(number(scanner)?),
                _ => scanner.skip()?,
            }
            Ok(())
        })?;
        if let Some((numerator, denominator)) = numerator.zip(denominator) {
            own.unit = TickUnit::Seconds { numerator, denominator };
        }
        own.span = first.zip(last);
        Ok(own)
    }

    /// The tick that `text`, microseconds, stands for: the nearest. A tick that is a count is shown
    /// as a nanosecond.
    #[inline]
    pub(super) fn ticks(&self, text: &[u8]) -> Option<u64> {
        let nanos = scaled(text, 3)?;
        match self.unit {
            TickUnit::Seconds { numerator: 1, denominator: 1_000_000_000 }
            | TickUnit::Cycles
            | TickUnit::Instructions => Some(nanos),
            TickUnit::Seconds { .. } => {
                let timebase = profctl_model::Timebase {
                    unit: self.unit,
                    ..profctl_model::Timebase::NANOSECONDS
                };
                timebase.ticks_of_nanos(u128::from(nanos)).map(|ticks| ticks.0)
            }
        }
    }
}

/// What is said of one event.
#[derive(Clone, Debug, Default)]
pub(super) struct Extra<'a> {
    /// Times in ticks, where nanoseconds are too coarse.
    pub(super) time: Option<u64>,
    pub(super) duration: Option<u64>,
    pub(super) cpu: Option<u32>,
    pub(super) depth: Option<u16>,
    pub(super) kind: Option<FuncKind>,
    pub(super) module: Option<Text<'a>>,
    pub(super) address: Option<u64>,
    /// What is said of the call, if anything is.
    pub(super) account: Option<Account>,
    /// Whether it is a gap, and how many events were lost in it.
    pub(super) gap: bool,
    pub(super) lost: Option<u64>,
    /// Of a thread: what the system calls it, where that is not what the event says; `UNSTATED` if
    /// it has no such number.
    pub(super) tid: Option<u64>,
    pub(super) pid: Option<u64>,
    pub(super) idle: bool,
}

impl<'a> Extra<'a> {
    /// What stands under `profctl` in `args`, an object; nothing if it is not there.
    pub(super) fn find(args: &'a [u8]) -> Option<Self> {
        let mut extra = None;
        let mut scanner = Scanner::new(args, 0);
        scanner
            .object(|scanner, key| {
                if key.raw == b"profctl" {
                    extra = Some(Self::parse(scanner)?);
                    return Ok(());
                }
                scanner.skip()
            })
            .ok()?;
        extra
    }

    fn parse(scanner: &mut Scanner<'a>) -> Result<Self, Stop> {
        let mut extra = Self::default();
        let mut account = Account::default();
        let null_or_number = |scanner: &mut Scanner<'_>| -> Result<u64, Stop> {
            Ok(decimal(scanner.scalar()?, 0).unwrap_or(UNSTATED))
        };
        scanner.object(|scanner, key| {
            match key.raw {
                b"ts" => extra.time = Some(number(scanner)?),
                b"dur" => extra.duration = Some(number(scanner)?),
                b"cpu" => extra.cpu = u32::try_from(number(scanner)?).ok(),
                b"depth" => extra.depth = u16::try_from(number(scanner)?).ok(),
                b"kind" => extra.kind = FuncKind::from_name(&scanner.string()?.to_string_lossy()),
                b"module" => extra.module = Some(scanner.string()?),
                b"address" => extra.address = Some(number(scanner)?),
                b"wall" => account.wall = Some(number(scanner)?),
                b"off_cpu" => account.off_cpu = Some(number(scanner)?),
                b"net" => account.net = Some(number(scanner)?),
                b"stolen" => account.stolen = Some(number(scanner)?),
                b"outermost" => account.outermost = Some(flag(scanner)?),
                b"unseen" => {
                    let unseen = scanner.string()?.raw;
                    account.fidelity = Fidelity {
                        start_inferred: matches!(unseen, b"entry" | b"both"),
                        end_inferred: matches!(unseen, b"exit" | b"both"),
                        ..account.fidelity
                    };
                }
                b"at_gap" => account.fidelity.at_gap = flag(scanner)?,
                b"gap" => extra.gap = flag(scanner)?,
                b"lost" => extra.lost = Some(number(scanner)?),
                b"tid" => extra.tid = Some(null_or_number(scanner)?),
                b"pid" => extra.pid = Some(null_or_number(scanner)?),
                b"idle" => extra.idle = flag(scanner)?,
                _ => scanner.skip()?,
            }
            Ok(())
        })?;
        extra.account = (account != Account::default()).then_some(account);
        Ok(extra)
    }
}
