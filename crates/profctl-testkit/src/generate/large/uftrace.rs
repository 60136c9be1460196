//! The walk as a directory that `uftrace record` writes: one file per task, one file of switches
//! per CPU.

use std::io::{self, Write};

use super::walk::{Step, Walk};
use super::{CPUS, TASKS};

/// Where the program is mapped, and bytes per function.
const BASE: u64 = 0x5555_5555_0000;
const FUNCTION_BYTES: u64 = 64;
/// Bytes of a task's file that are collected before they are written.
const COLLECTED: usize = 64 << 10;
/// Ids of tasks count from here; the first is the process.
const FIRST_TID: u64 = 1_000;
const ENTRY: u64 = 0;
const EXIT: u64 = 1;
/// A perf record: 24 bytes of type 14, a switch.
const SWITCH: u64 = 0xe | 0x18 << 48;
const OUT: u64 = 0x2000 << 32;

/// Opens the file of a name in the directory.
pub type Create<'a> = &'a mut dyn FnMut(&str) -> io::Result<Box<dyn Write>>;

/// The files of tasks or CPUs, written in large pieces.
struct Outputs {
    pending: Vec<Vec<u8>>,
    files: Vec<Box<dyn Write>>,
    written: u64,
}

impl Outputs {
    fn new(names: impl Iterator<Item = String>, create: Create<'_>) -> io::Result<Self> {
        let files = names.map(|name| create(&name)).collect::<io::Result<Vec<_>>>()?;
        Ok(Self { pending: vec![Vec::new(); files.len()], files, written: 0 })
    }

    fn add(&mut self, file: usize, words: &[u64]) -> io::Result<()> {
        let pending = &mut self.pending[file];
        for word in words {
            pending.extend_from_slice(&word.to_le_bytes());
        }
        self.written += 8 * words.len() as u64;
        if pending.len() >= COLLECTED {
            self.files[file].write_all(pending)?;
            pending.clear();
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        for (file, pending) in self.files.iter_mut().zip(&self.pending) {
            file.write_all(pending)?;
            file.flush()?;
        }
        Ok(())
    }
}

/// Writes a recording of about `bytes` bytes, and says how many records it has.
pub fn write_uftrace(bytes: u64, seed: u64, create: Create<'_>) -> io::Result<u64> {
    let mut walk = Walk::new(seed, CPUS);
    write_texts(&walk, create)?;
    let tid = |task: usize| FIRST_TID + task as u64;
    let tasks = (0..TASKS).map(|task| format!("{}.dat", tid(task)));
    let mut tasks = Outputs::new(tasks, create)?;
    let mut cpus = Outputs::new((0..CPUS).map(|cpu| format!("perf-cpu{cpu}.dat")), create)?;
    let mut records = 0;
    let switch =
        |task: usize, flags: u64, time: u64| [SWITCH | flags, FIRST_TID | tid(task) << 32, time];
    for cpu in 0..CPUS {
        cpus.add(cpu, &switch(walk.running[cpu], 0, walk.time - 1))?;
        records += 1;
    }
    while tasks.written + cpus.written < bytes {
        let before = walk.time;
        let step = walk.next();
        let task = walk.task();
        let mut call = |time: u64, kind: u64, function: usize, depth: usize| {
            let address = BASE + function as u64 * FUNCTION_BYTES;
            tasks.add(task, &[time, kind | 5 << 3 | (depth as u64) << 6 | address << 16])
        };
        records += match step {
            Step::Enter { function, depth } => {
                call(before, ENTRY, function, depth)?;
                1
            }
            Step::Leaf { function, depth, length } => {
                call(before, ENTRY, function, depth)?;
                call(before + length, EXIT, function, depth)?;
                2
            }
            Step::Exit { function, depth, .. } => {
                call(walk.time, EXIT, function, depth)?;
                1
            }
            Step::Switch { from } => {
                cpus.add(walk.cpu, &switch(from, OUT, before))?;
                cpus.add(walk.cpu, &switch(task, 0, walk.time))?;
                2
            }
        };
    }
    tasks.finish()?;
    cpus.finish()?;
    Ok(records)
}

fn write_texts(walk: &Walk, create: Create<'_>) -> io::Result<()> {
    let mut info = b"Ftrace!\0".to_vec();
    // Version 4, 40 bytes, little endian, 64 bits; features as uftrace 0.13 has them. Of the lines
    // only the program, the command, the threads and the version are there.
    info.extend([4, 0, 0, 0, 40, 0, 1, 2]);
    for word in [0x363_u64, 0x2089, 1_024] {
        info.extend(word.to_le_bytes());
    }
    let tids: Vec<String> = (0..TASKS as u64).map(|task| (FIRST_TID + task).to_string()).collect();
    let text = format!(
        "exename:/usr/bin/made\ncmdline:make-trace\ntaskinfo:lines=2\ntaskinfo:nr_tid={}\n\
         taskinfo:tids={}\nuftrace_version:v0.13 ( made )\n",
        tids.len(),
        tids.join(",")
    );
    info.extend(text.as_bytes());
    create("info")?.write_all(&info)?;
    let session = format!(
        "SESS timestamp=99.0 pid={FIRST_TID} sid=made exename=\"/usr/bin/made\"
"
    );
    let task = |tid| {
        format!(
            "TASK timestamp=99.0 tid={tid} pid={FIRST_TID}
"
        )
    };
    let tasks: String = (FIRST_TID..FIRST_TID + TASKS as u64).map(task).collect();
    create("task.txt")?.write_all((session + &tasks).as_bytes())?;
    let end = BASE + walk.names.len() as u64 * FUNCTION_BYTES;
    let map = format!("{BASE:x}-{end:x} r-xp 00000000 00:00 0 /usr/bin/made\n");
    create("sid-made.map")?.write_all(map.as_bytes())?;
    let symbol = |(n, name)| format!("{:016x} T {name}\n", n as u64 * FUNCTION_BYTES);
    let symbols: String = walk.names.iter().enumerate().map(symbol).collect();
    let last = format!("{:016x} ? __sym_end\n", end - BASE);
    let symbols = format!("# path name: /usr/bin/made\n{symbols}{last}");
    create("made.sym")?.write_all(symbols.as_bytes())
}
