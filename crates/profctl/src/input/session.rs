//! The one path from TRACE arguments to what was read of them: options, progress, what is said about
//! each input, whether the selection found anything, and how good the input was.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use profctl_analyze::summarize::{By, Profile, Quality, Source};
use profctl_import::{Origin, ReadOptions, Streamed};
use profctl_model::diag::{Sample, codes};
use profctl_model::{
    DiagLog, Names, Place, SelectThreads, Timeline, Trace, TraceBuilder, TraceMeta,
};
use profctl_render::table::{Format, visible};

use super::ahead::in_order;
use super::files::Growth;
use super::opened::{Opened, imported, opened};
use super::selected::{Found, Selected};
use super::{Inputs, TraceFile, options};
use crate::args::{Global, Reading, Selection};
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::progress::Progress;
use crate::style;

/// Reads the inputs of one command.
pub(crate) struct Session<'a> {
    reading: &'a Reading,
    pub(crate) selection: &'a Selection,
    global: &'a Global,
    /// Which calls pass: the selection, but for commands that select functions among their rows.
    passing: Selection,
    /// For the readers.
    pub(crate) options: ReadOptions,
    found: Found,
    /// What the inputs so far were like.
    qualities: Vec<(String, Quality)>,
    /// Whether a terminal may show how far reading has come.
    shows_progress: bool,
    growth: Growth,
}

/// One input that was read.
pub(crate) struct Item<S> {
    /// What messages call it.
    pub(crate) name: String,
    pub(crate) content: ItemContent<S>,
}

/// What was in it.
pub(crate) enum ItemContent<S> {
    Trace(Box<Read<S>>),
    Profile(Box<Profile>),
}

/// A trace that was read.
pub(crate) struct Read<S> {
    /// The sink, filled.
    pub(crate) sink: S,
    pub(crate) names: Names,
    pub(crate) meta: TraceMeta,
    pub(crate) origin: Origin,
}

impl<S> Read<S> {
    /// Where it came from, for a profile.
    pub(crate) fn source(&self) -> Source {
        Source {
            path: self.origin.name.clone(),
            format: self.origin.format.name.into(),
            bytes: self.origin.bytes,
        }
    }

    /// What its head says.
    pub(crate) fn facts(&self) -> Vec<(String, String)> {
        let facts = self.origin.facts.iter();
        facts.map(|(name, value)| (name.clone().into_owned(), value.clone())).collect()
    }
}

impl<'a> Session<'a> {
    /// Nothing is read yet.
    pub(crate) fn new(
        reading: &'a Reading,
        selection: &'a Selection,
        by: By,
        global: &'a Global,
    ) -> Result<Self, Failure> {
        let options = options::options(reading, selection, by)?;
        let (found, qualities) = (Found::default(), Vec::new());
        let passing = selection.clone();
        Ok(Self {
            reading,
            selection,
            global,
            passing,
            options,
            found,
            qualities,
            shows_progress: true,
            growth: Growth::None,
        })
    }

    /// The same for a command that writes while it reads.
    pub(crate) fn streaming(mut self) -> Self {
        // A terminal shows the output.
        self.shows_progress = self.global.out_file.is_some() || !io::stdout().is_terminal();
        self.growth = Growth::Streamed;
        self
    }

    /// The same for a command whose rows are functions and that selects among them itself, so that
    /// shares remain relative to all functions.
    pub(crate) fn selecting_rows(mut self) -> Self {
        self.passing = self.selection.without_functions();
        self
    }

    /// Reads every input into a separate sink and passes it to `take`, in order. In a directory,
    /// files that are not traces are skipped and counted, as long as there is one that is.
    pub(crate) fn each<S: SelectThreads + Send>(
        &mut self,
        traces: &[PathBuf],
        sink: impl Fn() -> S,
        take: impl FnMut(Item<S>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let inputs = Inputs::of(traces, self.global)?;
        self.each_in_turn(&inputs, sink, take)?;
        self.check()
    }

    /// The same for a part of the inputs, and several at the same time; [`Self::check`] is for when
    /// all are read.
    pub(crate) fn each_of_some<S: SelectThreads + Send>(
        &mut self,
        traces: &[PathBuf],
        sink: impl Fn() -> S + Sync,
        mut take: impl FnMut(Item<S>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let inputs = Inputs::of(traces, self.global)?;
        let workers = self.options.workers.max(1);
        let at_once = usize::try_from(inputs.at_once()).unwrap_or(workers).min(workers);
        if at_once == 1 {
            return self.each_in_turn(&inputs, sink, take);
        }
        let options = ReadOptions { workers: workers / at_once, ..self.options.clone() };
        let (passing, expansion) = (self.passing.clone(), self.reading.expansion);
        let open = |file: &&TraceFile| opened(file, expansion, &options, &passing, &sink, &|_| ());
        let (files, global) = (inputs.files(), self.global);
        std::thread::scope(|scope| {
            let mut read = in_order(scope, &files, at_once, &open);
            each_file(&inputs, global, |file, _| match read.next() {
                Some(read) => take(self.accept(file, read?)?),
                None => Ok(()),
            })
        })
    }

    fn each_in_turn<S: SelectThreads + Send>(
        &mut self,
        inputs: &Inputs,
        sink: impl Fn() -> S,
        mut take: impl FnMut(Item<S>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let global = self.global;
        each_file(inputs, global, |file, progress| {
            self.read(file, &sink, progress).and_then(&mut take)
        })
    }

    /// Worker threads.
    #[cfg(feature = "tables")]
    pub(crate) fn workers(&self) -> usize {
        self.options.workers
    }

    /// Fails if the selection names something that no input has.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.found.check(self.selection).map_err(Failure::usage)
    }

    /// Reads one trace.
    pub(crate) fn one<S: SelectThreads + Send>(
        &mut self,
        trace: &Path,
        sink: S,
    ) -> Result<Read<S>, Failure> {
        let mut file = Inputs::single(trace, self.global)?;
        file.growth = self.growth;
        let is_shown = self.shows_progress && shows_progress(self.global);
        let progress = Progress::start(file.bytes, is_shown);
        let sink = std::cell::Cell::new(Some(sink));
        let once = || sink.take().expect("an input has one sink");
        let ItemContent::Trace(read) = self.read(&file, &once, &progress)?.content else {
            return Err(Failure::input(file.name, "is a saved profile, expected a trace")
                .hint("a profile holds sums, not calls: `profctl summarize` shows them"));
        };
        drop(progress);
        self.check()?;
        Ok(*read)
    }

    /// Reads one trace, or a saved profile; `read` counts its bytes.
    pub(crate) fn watched<S: SelectThreads + Send>(
        &mut self,
        file: &TraceFile,
        sink: S,
        read: std::sync::Arc<std::sync::atomic::AtomicU64>,
    ) -> Result<Item<S>, Failure> {
        let sink = std::cell::Cell::new(Some(sink));
        let once = || sink.take().expect("an input has one sink");
        let item = self.read(file, &once, &Progress::counting(read))?;
        self.check()?;
        Ok(item)
    }

    /// Writes one trace in the plain format to `out`, and says how that went.
    pub(crate) fn plain(
        &mut self,
        trace: &Path,
        out: &mut (dyn io::Write + Send),
    ) -> Result<io::Result<()>, Failure> {
        let functions = self.selection.selects_functions().then_some("a selection of functions");
        if let Some(flag) = self.selection.beyond_profiles().or(functions) {
            let message = format!("{flag} has no effect: plain holds every record of a trace");
            return Err(Failure::usage(message).hint("apply the flag when you read the file back"));
        }
        let file = Inputs::single(trace, self.global)?;
        let progress = progress(file.bytes, self.global);
        let input = file.open(self.reading.expansion)?.trace(&file.name)?;
        let mut result = Ok(());
        let nothing: Option<TraceBuilder> = None;
        let read = imported(&file, &input, &self.passing, nothing, |sink| {
            let (at, options) = (|n| progress.at(n), &self.options);
            let (read, written) = profctl_import::write_plain(&input, options, sink, out, &at)?;
            result = written;
            Ok(read)
        })?;
        self.accept_trace(&file, read)?;
        Ok(result)
    }

    /// Reads one trace into memory.
    pub(crate) fn load(&mut self, trace: &Path) -> Result<Trace, Failure> {
        let mut trace = self.all_of(trace)?;
        self.selection.keep_states(&mut trace.states, &trace.names);
        self.selection.keep_lives(&mut trace.lives, &trace.names);
        self.selection.keep_marks(&mut trace.marks, &trace.names);
        self.selection.keep_wakes(&mut trace.wakes, &trace.names);
        self.selection.keep_gaps(&mut trace.gaps, &trace.names);
        Ok(trace)
    }

    /// Reads one trace into memory, all of the window whatever else is selected: for commands that
    /// need the rest to say something of what is selected.
    pub(crate) fn load_whole(&mut self, trace: &Path) -> Result<Trace, Failure> {
        self.passing = Selection::default();
        self.all_of(trace)
    }

    fn all_of(&mut self, trace: &Path) -> Result<Trace, Failure> {
        let read = self.one(trace, TraceBuilder::default())?;
        if read.sink.holds_only_sums() {
            return Err(Failure::of_sums(trace));
        }
        Ok(read.sink.finish(read.meta, read.names))
    }

    /// Prints what is wrong with the inputs, for commands whose output cannot say it.
    pub(crate) fn say_quality(&self) {
        let incomplete = self.qualities.iter().filter(|(_, quality)| !quality.is_complete());
        for (name, quality) in incomplete {
            for note in quality.notes(Timeline::Recorded) {
                say(&format!("{name}: {note}"), self.global);
            }
        }
    }

    /// Prints which inputs could not be read to the end, for pictures.
    pub(crate) fn say_damage(&self) {
        for (_, quality) in &self.qualities {
            say_damage(quality, self.global);
        }
    }

    /// How to end after the report was written.
    pub(crate) fn exit(&self) -> Exit {
        let incomplete = self.qualities.iter().find(|(_, quality)| !quality.is_complete());
        match incomplete {
            Some((_, quality)) => exit_of(quality, self.reading.strict, self.global),
            None => verdict_of_complete(),
        }
    }

    fn read<S: SelectThreads + Send>(
        &mut self,
        file: &TraceFile,
        sink: &impl Fn() -> S,
        progress: &Progress,
    ) -> Result<Item<S>, Failure> {
        let (options, expansion) = (&self.options, self.reading.expansion);
        let at = |n| progress.at(n);
        let opened = opened(file, expansion, options, &self.passing, sink, &at)?;
        self.accept(file, opened)
    }

    /// Takes in what was read of an input.
    fn accept<S: SelectThreads>(
        &mut self,
        file: &TraceFile,
        opened: Opened<S>,
    ) -> Result<Item<S>, Failure> {
        let name = file.name.clone();
        let content = match opened {
            Opened::Trace(read) => ItemContent::Trace(Box::new(self.accept_trace(file, *read)?)),
            Opened::Profile(profile) => ItemContent::Profile(self.accept_profile(&name, profile)?),
            #[cfg(feature = "tables")]
            Opened::Dataset(read) => ItemContent::Trace(Box::new(self.accept_dataset(file, read)?)),
        };
        Ok(Item { name, content })
    }

    /// What was read of a table of calls, which has neither records nor lines.
    #[cfg(feature = "tables")]
    fn accept_dataset<S: SelectThreads>(
        &mut self,
        file: &TraceFile,
        read: Result<Box<Streamed<Selected<S>>>, Failure>,
    ) -> Result<Read<S>, Failure> {
        let flag = self.selection.window_flag().or_else(|| self.reading.beyond_profiles());
        if let Some(flag) = flag {
            let message = format!("{flag} has no effect: {} is Parquet", file.name);
            return Err(Failure::usage(message).hint("apply the flag in `profctl convert`"));
        }
        self.accept_trace(file, *read?)
    }

    fn accept_trace<S: SelectThreads>(
        &mut self,
        file: &TraceFile,
        read: Streamed<Selected<S>>,
    ) -> Result<Read<S>, Failure> {
        self.selection.fits(&read.meta.timebase, read.bounds)?;
        let Streamed { sink, names, mut meta, origin, .. } = read;
        if let Some(remedy) = no_switches(&origin, &meta).filter(|_| sink.has_calls) {
            meta.diags.add(&codes::NO_SWITCHES, 1, || Sample {
                place: Place { source: origin.name.clone(), offset: 0, line: None },
                message: remedy.to_owned(),
            });
        }
        let format = origin.format.name;
        if let Some((flag, what)) = self.reading.without_effect(format) {
            return Err(Failure::usage(format!(
                "{flag} has no effect: it is for {what}, and {} is {format}",
                file.name
            ))
            .hint("`profctl help input` explains the flags of probe and logic captures"));
        }
        let is_forced = self.options.format.is_some();
        if is_forced && !sink.has_calls && names.funcs.is_empty() {
            let message = format!("no calls found when read as {format}");
            return Err(Failure::input(file.name.clone(), message).hint(
                "without --input-format and --rule the format is recognized from the content",
            ));
        }
        say_origin(&origin, meta.events, self.global);
        self.found.trace(self.selection, &names);
        self.qualities.push((file.name.clone(), Quality::of(&meta.diags)));
        Ok(Read { sink: sink.finish(&names), names, meta, origin })
    }

    fn accept_profile(
        &mut self,
        name: &str,
        profile: Result<Box<Profile>, Failure>,
    ) -> Result<Box<Profile>, Failure> {
        let flag = self.selection.beyond_profiles().or_else(|| self.reading.beyond_profiles());
        if let Some(flag) = flag {
            let message = format!("{flag} has no effect: {name} is a saved profile");
            return Err(Failure::usage(message)
                .hint("a profile holds sums by function: apply the flag when you save it"));
        }
        let profile = profile?;
        if self.selection.selects_functions() {
            for row in &profile.rows {
                self.found.function(self.selection, &row.name, row.module.as_deref());
            }
        }
        self.qualities.push((name.to_owned(), profile.quality.clone()));
        Ok(profile)
    }
}

/// Passes each file to `take`, in order. In a directory, files that are not traces are skipped and
/// counted, as long as there is one that is.
pub(crate) fn each_file(
    inputs: &Inputs,
    global: &Global,
    mut take: impl FnMut(&TraceFile, &Progress) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut progress = progress(inputs.bytes(), global);
    let mut notes = Vec::new();
    for argument in &inputs.arguments {
        let mut skipped = Vec::new();
        for file in &argument.files {
            match take(file, &progress) {
                Err(failure) if argument.is_directory && failure.is_no_trace => {
                    skipped.push(failure);
                }
                result => result?,
            }
            progress.next_input(file.bytes.unwrap_or(0));
            if interrupt::happened() {
                break;
            }
        }
        let (n, all) = (skipped.len(), argument.files.len());
        if n == all {
            let message = match all {
                1 => "is a directory of 1 file, which is not a trace".to_owned(),
                _ => format!("is a directory of {all} files, none of them a trace"),
            };
            let first = skipped.swap_remove(0).to_string();
            return Err(Failure::input(argument.name.clone(), message)
                .hint(first.lines().next().unwrap_or_default().trim_start_matches("profctl: ")));
        }
        if n > 0 {
            let name = &argument.name;
            notes.push(format!("{name}: skipped {n} of {all} files that are not traces"));
        }
        if global.verbose {
            notes.extend(skipped.iter().map(|failure| failure.to_string().trim_end().into()));
        }
    }
    drop(progress);
    for note in &notes {
        say(note, global);
    }
    Ok(())
}

/// What the kernel's function tracers write, in any form.
const OF_FTRACE: [&str; 5] =
    ["function_graph", "ftrace", "kernel_log", "trace_dat", "trace_cmd_report"];

/// What to say of a kernel trace that could have recorded context switches and did not.
fn no_switches(origin: &Origin, meta: &TraceMeta) -> Option<&'static str> {
    let is_said = meta.diags.count_of(&codes::NO_SWITCHES) > 0;
    (!meta.knows_off_cpu && !is_said && OF_FTRACE.contains(&origin.format.name)).then_some(
        "no sched_switch in this trace: time asleep counts as elapsed and net of the function \
         that slept; record `-e sched:sched_switch`",
    )
}

/// Reads one trace into memory, all of the window whatever else is selected.
pub(crate) fn load_whole(
    trace: &Path,
    reading: &Reading,
    selection: &Selection,
    global: &Global,
) -> Result<Trace, Failure> {
    Session::new(reading, selection, By::Function, global)?.load_whole(trace)
}

/// Reads one trace into memory.
pub(crate) fn load(
    trace: &Path,
    reading: &Reading,
    selection: &Selection,
    global: &Global,
) -> Result<Trace, Failure> {
    Session::new(reading, selection, By::Function, global)?.load(trace)
}

pub(crate) fn progress(total: Option<u64>, global: &Global) -> Progress {
    Progress::start(total, shows_progress(global))
}

fn shows_progress(global: &Global) -> bool {
    style::is_watched() && !global.quiet
}

/// What `-v` says of an input.
fn say_origin(origin: &Origin, events: u64, global: &Global) {
    if global.verbose {
        let Origin { name, format, reason, bytes, .. } = origin;
        say(&format!("{name}: {}: {reason}; {bytes} bytes, {events} events", format.name), global);
    }
}

/// A line on standard error.
pub(crate) fn say(line: &str, global: &Global) {
    if !global.quiet {
        let line = line.strip_prefix("profctl: ").unwrap_or(line);
        // A closed standard error is not a reason to stop.
        let _ = writeln!(io::stderr().lock(), "profctl: {}", visible(line));
    }
}

/// How to end after a report that was written: `--strict` fails on an incomplete input.
pub(crate) fn verdict(quality: &Quality, reading: &Reading, global: &Global) -> Exit {
    strict_verdict(quality, reading.strict, global)
}

/// The same for a command that reads no traces.
pub(crate) fn strict_verdict(quality: &Quality, strict: bool, global: &Global) -> Exit {
    if lacks_notes(global) {
        say_damage(quality, global);
    }
    exit_of(quality, strict, global)
}

/// Whether the output is rows of data, which have no place for what is wrong with the input.
pub(crate) fn lacks_notes(global: &Global) -> bool {
    matches!(global.format(), Format::Csv | Format::Json)
}

/// How to end after a report that has no place for what is wrong with its inputs: damage is said.
pub(crate) fn exit_after(qualities: &[Quality], reading: &Reading, global: &Global) -> Exit {
    for quality in qualities {
        say_damage(quality, global);
    }
    let incomplete = qualities.iter().find(|quality| !quality.is_complete());
    incomplete.map_or_else(verdict_of_complete, |one| exit_of(one, reading.strict, global))
}

/// Says where inputs could not be read further.
pub(crate) fn say_damage(quality: &Quality, global: &Global) {
    let notes = quality.notes(Timeline::Recorded);
    for note in notes.iter().filter(|note| note.starts_with("damaged: ")) {
        say(note, global);
    }
}

fn exit_of(quality: &Quality, strict: bool, global: &Global) -> Exit {
    if !strict || quality.is_complete() {
        return verdict_of_complete();
    }
    say("the input was incomplete (--strict)", global);
    Exit::Incomplete
}

fn verdict_of_complete() -> Exit {
    if interrupt::happened() { Exit::Interrupted } else { Exit::Done }
}

/// The same for a trace.
pub(crate) fn verdict_of(diags: &DiagLog, reading: &Reading, global: &Global) -> Exit {
    verdict(&Quality::of(diags), reading, global)
}

#[cfg(test)]
mod tests {
    use profctl_import::FORMATS;

    use super::OF_FTRACE;

    #[test]
    fn formats_of_ftrace_are_formats() {
        for name in OF_FTRACE {
            assert!(FORMATS.iter().any(|format| format.descriptor().name == name), "{name}");
        }
    }
}
