//! Shapes to characters: how numbers, tables and code traces look on a terminal and in files.
//!
//! Writers take any [`std::io::Write`] and say everything through it; whether there is a terminal,
//! how wide it is and whether it has colours, the caller decides.

pub mod chart;
pub mod code_trace;
pub mod export;
pub mod number;
pub mod page;
pub mod table;

pub use number::TimeUnit;
pub use table::{Format, Style};
