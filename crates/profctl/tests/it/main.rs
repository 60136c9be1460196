//! The program from outside, and the shape of the source tree.

#![expect(clippy::disallowed_methods, reason = "tests read and write files")]

#[cfg(unix)]
mod budget;
mod ci;
mod cli;
mod consistent;
mod convert;
mod diff;
mod docs;
mod exports;
mod flame;
mod gate;
mod growth;
mod history;
mod html;
mod made;
mod merge;
mod modules;
mod pages;
mod plot;
mod pprof;
mod program;
#[cfg(unix)]
mod pty;
#[cfg(feature = "tables")]
mod query;
mod recordings;
mod regressions;
mod replay;
mod reports;
mod safety;
mod sched;
mod surface;
mod tables;
mod terminal;
mod tidy;
mod tutorial;
#[cfg(all(unix, feature = "view"))]
mod view;
mod whatif;
mod words;
