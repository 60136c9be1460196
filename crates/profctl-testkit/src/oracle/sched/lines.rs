//! Lines of tracefs text become records: of the tracer `nop` and of `function_graph` with the
//! options abstime and proc.

/// What the CPU was doing when a record was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Context {
    /// The flags say: a thread.
    Task,
    /// The flags say: an interrupt.
    Interrupt,
    /// There are no flags.
    Unstated,
}

/// A record of the scheduler, or of an interrupt. Threads by id.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// Who left, the letter of its state, and who came.
    Switch(u64, u8, u64),
    Waking(u64),
    Wakeup(u64),
    WakeupNew(u64),
    /// The child.
    Fork(u64),
    Exit,
    /// An interrupt begins, ends.
    Interrupt(bool),
    /// A function is entered, left.
    Enter(String),
    Leave(String),
    Other,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Line {
    /// Nanoseconds, of which the text has microseconds.
    pub(super) time: u64,
    pub(super) cpu: u32,
    /// Who ran.
    pub(super) tid: u64,
    pub(super) context: Context,
    pub(super) what: What,
}

/// Every line that is a record, in the order of the text.
pub(super) fn all(text: &str) -> Vec<Line> {
    let is_graph = text.starts_with("# tracer: function_graph");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| if is_graph { of_graph(line) } else { of_events(line) }).collect()
}

/// `       trace-cmd-145     [001] ..s2.    48.645713: sys_exit: NR 1 = 1`
fn of_events(line: &str) -> Option<Line> {
    let (task, rest) = line.split_once(" [")?;
    let (cpu, rest) = rest.split_once("] ")?;
    let mut words = rest.trim_start().splitn(2, ' ');
    let flags = words.next()?;
    let (stamp, event) = words.next()?.trim_start().split_once(": ")?;
    let (name, arguments) = event.split_once(": ").unwrap_or((event.trim_end_matches(':'), ""));
    let is_interrupt = flags.bytes().any(|flag| matches!(flag, b'h' | b'H' | b's' | b'z' | b'Z'));
    Some(Line {
        time: nanoseconds(stamp)?,
        cpu: cpu.parse().ok()?,
        tid: tid(task)?,
        context: if is_interrupt { Context::Interrupt } else { Context::Task },
        what: event_of(name, arguments),
    })
}

/// `  286.768230 |   1)    <idle>-0    |               |      /* sched_waking: comm=… */`
fn of_graph(line: &str) -> Option<Line> {
    let mut columns = line.splitn(4, '|');
    let time = nanoseconds(columns.next()?.trim())?;
    let (cpu, task) = columns.next()?.split_once(')')?;
    let (_duration, body) = (columns.next()?, columns.next()?.trim());
    let what = if let Some(entered) = body.strip_suffix("() {") {
        What::Enter(entered.to_owned())
    } else if let Some(left) = body.strip_prefix("} /* ") {
        What::Leave(left.trim_end_matches(" */").to_owned())
    } else if let Some(event) = body.strip_prefix("/* ") {
        let event = event.trim_end_matches(" */");
        let (name, arguments) = event.split_once(": ").unwrap_or((event, ""));
        event_of(name, arguments)
    } else {
        // A function that called nothing.
        What::Other
    };
    let cpu = cpu.trim().parse().ok()?;
    Some(Line { time, cpu, tid: tid(task)?, context: Context::Unstated, what })
}

/// The number behind the last dash: names hold dashes, too.
fn tid(task: &str) -> Option<u64> {
    task.trim().rsplit_once('-')?.1.parse().ok()
}

fn nanoseconds(stamp: &str) -> Option<u64> {
    let (seconds, micros) = stamp.split_once('.')?;
    let micros = (micros.len() == 6).then(|| micros.parse::<u64>().ok())??;
    Some((seconds.parse::<u64>().ok()? * 1_000_000 + micros) * 1000)
}

fn event_of(name: &str, arguments: &str) -> What {
    let field = |key: &str| {
        let at = arguments.find(&format!("{key}="))? + key.len() + 1;
        arguments[at..].split(' ').next()
    };
    let number = |key: &str| field(key)?.parse().ok();
    let known = || {
        Some(match name {
            "sched_switch" => What::Switch(
                number("prev_pid")?,
                field("prev_state")?.bytes().next()?,
                number("next_pid")?,
            ),
            "sched_waking" => What::Waking(number(" pid")?),
            "sched_wakeup" => What::Wakeup(number(" pid")?),
            "sched_wakeup_new" => What::WakeupNew(number(" pid")?),
            "sched_process_fork" => What::Fork(number("child_pid")?),
            "sched_process_exit" => What::Exit,
            "softirq_entry" | "irq_handler_entry" => What::Interrupt(true),
            "softirq_exit" | "irq_handler_exit" => What::Interrupt(false),
            _ => return None,
        })
    };
    known().unwrap_or(What::Other)
}
