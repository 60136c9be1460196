//! The walk as a trace.dat. The records of a CPU stand together, so the walk is walked once to learn
//! how many pages each CPU has, and once more for each CPU.

use std::io::{self, Write};

use super::super::trace_dat::{Contents, DatShape, Pages, Records, address};
use super::walk::{Step, Walk};
use super::{CHUNK, CPUS, TASKS};

/// A task's id.
fn tid(task: usize) -> u64 {
    100 + task as u64
}

/// Adds what the walk does next to the pages of its CPU, if that is `cpu`.
fn render(walk: &mut Walk, cpu: Option<usize>, names: &[String], pages: &mut [Pages]) {
    let records = Records { big: false };
    let before = walk.time;
    let step = walk.next();
    if cpu.is_some_and(|cpu| cpu != walk.cpu) {
        return;
    }
    let pages = &mut pages[if cpu.is_some() { 0 } else { walk.cpu }];
    let task = walk.task();
    match step {
        Step::Enter { function, depth } => {
            pages.record(before, &records.entry(tid(task), address(function), depth));
        }
        Step::Leaf { function, depth, length } => {
            let to = before + length;
            pages.record(before, &records.entry(tid(task), address(function), depth));
            pages.record(to, &records.exit(tid(task), address(function), depth, (before, to)));
        }
        Step::Exit { function, depth, length, .. } => {
            let to = walk.time;
            let times = (to - length, to);
            pages.record(to, &records.exit(tid(task), address(function), depth, times));
        }
        Step::Switch { from } => {
            let (from, to) = ((tid(from), &*names[from]), (tid(task), &*names[task]));
            pages.record(walk.time, &records.switch(from, to));
        }
    }
}

/// Writes a file of about `bytes` bytes and says how many steps of the walk it holds.
pub(super) fn write(bytes: u64, seed: u64, out: &mut impl Write) -> io::Result<u64> {
    let names: Vec<String> = (0..TASKS).map(|task| format!("task-{task}")).collect();
    let tasks: Vec<(u64, &str)> =
        names.iter().enumerate().map(|(task, name)| (tid(task), name.as_str())).collect();
    let mut walk = Walk::new(seed, CPUS);
    let functions = walk.names.clone();
    let contents = Contents { functions: &functions, tasks: &tasks };
    let mut sizes = vec![0_u64; CPUS];
    let head = contents.head(&DatShape::PLAIN, &sizes).len() as u64;
    let mut pages = vec![Pages::new(false); CPUS];
    while head + sizes.iter().sum::<u64>() < bytes {
        render(&mut walk, None, &names, &mut pages);
        for (pages, size) in pages.iter_mut().zip(&mut sizes) {
            *size += pages.done.len() as u64;
            pages.done.clear();
        }
    }
    for (pages, size) in pages.iter_mut().zip(&mut sizes) {
        pages.close();
        *size += pages.done.len() as u64;
    }
    out.write_all(&contents.head(&DatShape::PLAIN, &sizes))?;
    let steps = walk.steps;
    for cpu in 0..CPUS {
        let mut walk = Walk::new(seed, CPUS);
        let mut pages = [Pages::new(false)];
        while walk.steps < steps {
            render(&mut walk, Some(cpu), &names, &mut pages);
            if pages[0].done.len() >= CHUNK {
                out.write_all(&pages[0].done)?;
                pages[0].done.clear();
            }
        }
        pages[0].close();
        out.write_all(&pages[0].done)?;
    }
    out.write_all(&contents.tail(&DatShape::PLAIN, &sizes))?;
    Ok(steps)
}
