//! One task's records into a forest of calls, and the sums over it.

use std::collections::{BTreeMap, BTreeSet};

use super::tasks::Item;
use super::{Function, Report};

/// A call, complete or not.
#[derive(Debug)]
struct Call {
    name: Function,
    depth: usize,
    entered: Option<u64>,
    parent: Option<usize>,
    children: Vec<usize>,
    off_cpu: u64,
    /// Set once its exit was recorded.
    wall: Option<u64>,
    /// It is where an interrupt enters.
    interrupt: bool,
    /// A direct callee's name was lost, so that it is not a node of its own.
    nameless_callee: bool,
}

#[derive(Debug, Default)]
struct Forest {
    calls: Vec<Call>,
    open: Vec<usize>,
    left_cpu: Option<u64>,
    /// How many calls were open when interrupts began that have not ended.
    arrows: Vec<usize>,
    /// Calls whose exit is known to come late, by the place of that exit.
    late: BTreeMap<usize, usize>,
    /// Functions that were called between another call of theirs and its late exit.
    interleaved: BTreeSet<Function>,
}

/// Whether code on the interrupted stack calls a function of that name when an interrupt comes.
fn enters_interrupt(name: &str) -> bool {
    let whole = [
        "irq_enter_rcu",
        "irq_exit_rcu",
        "irq_enter",
        "irq_exit",
        "common_interrupt",
        "do_IRQ",
        "smp_apic_timer_interrupt",
        "smp_reschedule_interrupt",
        "exc_nmi",
        "do_nmi",
        "gic_handle_irq",
        "handle_arch_irq",
    ];
    let begins = ["__sysvec_", "sysvec_", "__common_interrupt"];
    whole.contains(&name) || begins.iter().any(|beginning| name.starts_with(beginning))
}

/// Adds the sums of one task to `report`.
pub(super) fn evaluate(items: &[Item], returns_only: bool, report: &mut Report) {
    let mut forest = Forest::default();
    let mut roots = Vec::new();
    for (index, item) in items.iter().enumerate() {
        match item {
            Item::Enter { depth, name, time } => {
                forest.set_aside(items, index, *depth);
                report.lost_exits += forest.close_from(*depth);
                let call = forest.add(name, *depth, *time);
                forest.open.push(call);
            }
            Item::Leaf { depth, name, wall, time } => {
                forest.set_aside(items, index, *depth);
                report.lost_exits += forest.close_from(*depth);
                let call = forest.add(name, *depth, *time);
                forest.calls[call].wall = Some(wall.unwrap_or(0));
            }
            Item::Exit { depth, name: Some(name), wall, .. } if returns_only => {
                let call = forest.add(name, *depth, None);
                forest.calls[call].wall = Some(wall.unwrap_or(0));
                forest.adopt_deeper(&mut roots, call);
            }
            Item::Exit { depth, name, wall, time } => {
                report.lost_exits += forest.close_from(*depth + 1);
                if let Some(call) = forest.late.remove(&index) {
                    forest.exit_late(call, wall.unwrap_or(0));
                    continue;
                }
                forest.exit(*depth, name.as_ref(), *wall, *time, report);
            }
            Item::Arrow(true) => forest.arrows.push(forest.open.len()),
            Item::Arrow(false) => {
                forest.arrows.pop();
            }
            Item::Off(time) => forest.left_cpu = Some(*time),
            Item::On(time) => {
                if let Some(left) = forest.left_cpu.take() {
                    for &call in &forest.open {
                        forest.calls[call].off_cpu += time.saturating_sub(left);
                    }
                }
            }
            Item::Gap => report.closed_by_loss += forest.close_from(0),
        }
    }
    report.unclosed += forest.close_from(0);
    forest.sum(report);
}

impl Forest {
    fn add(&mut self, name: &Function, depth: usize, entered: Option<u64>) -> usize {
        let parent = self.open.last().copied();
        let call = self.calls.len();
        self.calls.push(Call {
            name: name.clone(),
            depth,
            entered,
            parent,
            children: Vec::new(),
            off_cpu: 0,
            wall: None,
            interrupt: enters_interrupt(&name.0) || self.arrows.last() == Some(&self.open.len()),
            nameless_callee: false,
        });
        if let Some(parent) = parent {
            self.calls[parent].children.push(call);
        }
        call
    }

    /// The kernel takes a function off the stack a moment before it writes the exit. What an
    /// interrupt does in that moment is at the depth of the function, between its last callee and
    /// its exit. So before a call is given up for something at its own depth, the exit is looked
    /// for further down.
    fn set_aside(&mut self, items: &[Item], index: usize, depth: usize) {
        let Some(&call) = self.open.iter().find(|&&call| self.calls[call].depth == depth) else {
            return;
        };
        let name = &self.calls[call].name;
        let mut again = 0;
        for (at, item) in items.iter().enumerate().skip(index) {
            match item {
                Item::Gap => return,
                Item::Enter { depth: other, .. }
                | Item::Leaf { depth: other, .. }
                | Item::Exit { depth: other, .. }
                    if *other < depth =>
                {
                    return;
                }
                Item::Enter { depth: other, name: entered, .. } if *other == depth => {
                    again += usize::from(entered == name);
                }
                Item::Exit { depth: other, name: Some(left), .. }
                    if *other == depth && left == name =>
                {
                    if again == 0 {
                        self.open
                            .truncate(self.open.iter().position(|&open| open == call).unwrap_or(0));
                        self.late.insert(at, call);
                        return;
                    }
                    again -= 1;
                }
                _ => {}
            }
        }
    }

    /// What stood between belongs to the call if it fits into the time that the call took.
    fn exit_late(&mut self, call: usize, wall: u64) {
        self.calls[call].wall = Some(wall);
        let Call { parent, depth, .. } = self.calls[call];
        let beside: Vec<usize> = (call + 1..self.calls.len())
            .filter(|&other| self.calls[other].parent == parent && self.calls[other].depth == depth)
            .collect();
        let sum = |calls: &[usize]| calls.iter().map(|&call| self.elapsed(call)).sum::<u64>();
        if sum(&self.calls[call].children) + sum(&beside) > wall {
            let name = &self.calls[call].name;
            if self.calls[call + 1..].iter().any(|other| other.name == *name) {
                self.interleaved.insert(name.clone());
            }
            return;
        }
        for &other in &beside {
            self.calls[other].parent = Some(call);
        }
        if let Some(parent) = parent {
            self.calls[parent].children.retain(|child| !beside.contains(child));
        }
        self.calls[call].children.extend(beside);
    }

    /// Gives up the open calls at `depth` and below: the task went on above them.
    fn close_from(&mut self, depth: usize) -> u64 {
        let kept = self.open.iter().take_while(|&&call| self.calls[call].depth < depth).count();
        let given_up = self.open.len() - kept;
        self.open.truncate(kept);
        given_up as u64
    }

    fn exit(
        &mut self,
        depth: usize,
        name: Option<&Function>,
        wall: Option<u64>,
        time: Option<u64>,
        report: &mut Report,
    ) {
        let top = self.open.last().copied().filter(|&call| self.calls[call].depth == depth);
        let matches = |call: &usize| name.is_none_or(|name| self.calls[*call].name == *name);
        if let Some(call) = top.filter(matches) {
            self.open.pop();
            let seen =
                time.zip(self.calls[call].entered).map(|(exit, entry)| exit.saturating_sub(entry));
            self.calls[call].wall = wall.or(seen).or(Some(0));
            self.let_go_of_late(call);
            return;
        }
        if top.is_some() {
            report.lost_exits += self.close_from(depth);
        }
        report.unmatched_exits += 1;
        if let Some(name) = name {
            // Without a length it counts as incomplete.
            self.add(name, depth, None);
            return;
        }
        report.anonymous_exits += 1;
        if let Some(&parent) = self.open.last() {
            self.calls[parent].nameless_callee = true;
        }
    }

    /// The time of a return is taken before its record is written. What hit the call in between is
    /// printed in it: then its callees take longer than itself, and those that began after it had
    /// ended are its caller's. Times are printed in microseconds; without them, interrupts at the
    /// end are meant.
    fn let_go_of_late(&mut self, call: usize) {
        let Call { entered, parent, .. } = self.calls[call];
        let sum: u64 = self.calls[call].children.iter().map(|&callee| self.elapsed(callee)).sum();
        let Some(wall) = self.calls[call].wall.filter(|_| sum > self.elapsed(call)) else { return };
        let is_late = |callee: usize| match (entered, self.calls[callee].entered) {
            (Some(entered), Some(began)) => began + 1_000 > entered + wall,
            _ => self.calls[callee].interrupt,
        };
        let mut children = self.calls[call].children.clone();
        let mut late = Vec::new();
        while let Some(callee) = children.pop_if(|callee| is_late(*callee)) {
            late.insert(0, callee);
        }
        let name = &self.calls[call].name;
        if let Some(&first) = late.first()
            && self.calls[first..].iter().any(|other| other.name == *name)
        {
            self.interleaved.insert(name.clone());
        }
        for &callee in &late {
            self.calls[callee].parent = parent;
        }
        if let Some(parent) = parent {
            self.calls[parent].children.extend(late);
        }
        self.calls[call].children = children;
    }

    /// Where only returns are shown, callees are above their caller, further in.
    fn adopt_deeper(&mut self, roots: &mut Vec<usize>, call: usize) {
        while let Some(&callee) = roots.last() {
            if self.calls[callee].depth <= self.calls[call].depth {
                break;
            }
            roots.pop();
            self.calls[callee].parent = Some(call);
            self.calls[call].children.push(callee);
        }
        roots.push(call);
    }

    fn elapsed(&self, call: usize) -> u64 {
        let wall = self.calls[call].wall.unwrap_or(0);
        wall - self.calls[call].off_cpu.min(wall)
    }

    fn is_outermost(&self, call: usize) -> bool {
        let mut above = self.calls[call].parent;
        while let Some(caller) = above {
            if self.calls[caller].name == self.calls[call].name {
                return false;
            }
            above = self.calls[caller].parent;
        }
        true
    }

    fn sum(&self, report: &mut Report) {
        for name in &self.interleaved {
            report.functions.entry(name.clone()).or_default().interleaved = true;
        }
        for (index, call) in self.calls.iter().enumerate() {
            let totals = report.functions.entry(call.name.clone()).or_default();
            if call.wall.is_none() {
                totals.partial += 1;
                continue;
            }
            totals.calls += 1;
            if self.is_outermost(index) {
                totals.elapsed += self.elapsed(index);
            }
            let below: u64 = call.children.iter().map(|&callee| self.elapsed(callee)).sum();
            let elapsed = self.elapsed(index);
            totals.net += elapsed.saturating_sub(below);
            let partial_callee =
                call.children.iter().any(|&callee| self.calls[callee].wall.is_none());
            totals.partial_below |= partial_callee || call.nameless_callee;
            report.clamped += u64::from(below > elapsed);
        }
    }
}
