//! What tooltips say, and lines about the whole.

use profctl_model::{FuncKind, Ticks, Timebase};

use super::super::frames::{Cost, Frame};
use crate::number::{self, TimeUnit};

/// How numbers are written.
#[derive(Clone, Copy)]
pub(super) struct Words {
    pub(super) timebase: Timebase,
    pub(super) unit: TimeUnit,
}

impl Words {
    pub(super) fn length(&self, ticks: Ticks) -> String {
        number::length_with_unit(ticks, &self.timebase, self.unit)
    }

    /// `12.3 us, 4.56% of all`.
    pub(super) fn share(&self, ticks: Ticks, total: u128) -> String {
        if total == 0 {
            return self.length(ticks);
        }
        let share = ticks.0 as f64 / total as f64 * 100.0;
        format!("{}, {} of all", self.length(ticks), number::percent(share))
    }

    /// The module and the kind, if known.
    pub(super) fn nature(kind: FuncKind, module: Option<&str>) -> Option<String> {
        match (kind, module) {
            (FuncKind::Function | FuncKind::Mark, None) => None,
            (FuncKind::Function | FuncKind::Mark, Some(module)) => Some(format!("in {module}")),
            (kind, None) => Some(kind.name().to_owned()),
            (kind, Some(module)) => Some(format!("{} in {module}", kind.name())),
        }
    }

    /// What is known of a frame; `total` is what all frames take up.
    pub(super) fn frame(&self, frame: &Frame, total: u128, turned: bool) -> Vec<String> {
        let Cost { elapsed, net, range, calls, .. } = frame.cost;
        let mut tip: Vec<String> =
            Self::nature(frame.kind, frame.module.as_deref()).into_iter().collect();
        tip.push(calls_of(&frame.cost));
        if turned {
            tip.push(format!("net below: {}", self.share(net, total)));
            return tip;
        }
        tip.push(format!("elapsed: {}", self.share(elapsed, total)));
        if frame.kind != FuncKind::Mark {
            tip.push(format!("net: {}", self.share(net, total)));
        }
        if let Some((least, greatest)) = range.filter(|_| calls > 1) {
            // Incomplete calls are in the sum: an average would be wrong with them.
            let average = (frame.cost.partial == 0).then(|| Ticks(elapsed.0 / calls));
            let middle = average.map_or(String::new(), |average| {
                format!("{}/", number::length(average, &self.timebase, self.unit))
            });
            let names = if average.is_some() { "max/avg/min" } else { "max/min" };
            let greatest = number::length(greatest, &self.timebase, self.unit);
            tip.push(format!("elapsed {names}: {greatest}/{middle}{}", self.length(least)));
        }
        tip
    }
}

/// `12 calls, 1 incomplete`.
pub(super) fn calls_of(cost: &Cost) -> String {
    let calls = number::count(cost.calls, "call", "calls");
    match cost.partial {
        0 => calls,
        partial if cost.calls == 0 => format!("{partial} incomplete"),
        partial => format!("{calls}, {partial} incomplete"),
    }
}

/// What was merged, and how to see more if it was more than had to be.
pub(super) fn merged_note(what: &str, narrowest: u64, asked: u64) -> String {
    let pixels = narrowest as f64 / super::super::timeline::PIXEL as f64;
    let width = if narrowest <= super::super::timeline::PIXEL {
        "a pixel".to_owned()
    } else {
        format!("{pixels} pixels")
    };
    let more = if narrowest > asked {
        "; a part of the trace, or a wider picture, shows more"
    } else {
        ""
    };
    format!("merged: {what} narrower than {width} are drawn as blocks that count them{more}")
}
