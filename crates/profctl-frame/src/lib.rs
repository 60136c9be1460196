//! Tables that outlive the terminal: Parquet and SQL. The only crate that knows polars.
//!
//! In come the tables of the model and calls block by block, out go files and, again, a
//! [`profctl_model::Table`]. No type of polars is in a signature, and nothing here opens a file: the
//! rim hands in writers, and the paths of files that it wrote.

mod columns;
mod error;
mod order;
mod parquet;
mod query;
mod sql;

pub use columns::SpanNames;
pub use error::Error;
pub use parquet::{Described, ParquetFile, store_report};
pub use query::{Database, tables_of};
