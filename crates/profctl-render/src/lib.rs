//! Output: numbers, tables, code traces, flame graphs and charts, HTML pages, and the file formats of
//! other profilers.
//!
//! Writers take any [`std::io::Write`]. Whether there is a terminal, how wide it is and whether it
//! shows colors, the caller decides.

pub mod chart;
pub mod code_trace;
pub mod comparison;
pub mod escape;
pub mod export;
pub mod number;
pub mod page;
pub mod plot;
pub mod table;

pub use number::TimeUnit;
pub use table::{Format, Style};
