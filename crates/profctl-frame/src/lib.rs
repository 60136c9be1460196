//! Parquet and SQL. The only crate that depends on polars.
//!
//! The input is tables of the model and calls block by block; the output is files and
//! [`profctl_model::Table`]. No type of polars is in a signature, and nothing here creates files:
//! the caller passes writers, and the paths of files that it wrote.

mod batch;
mod columns;
mod error;
mod names;
mod order;
mod parquet;
mod query;
mod spans;
mod sql;
mod stored;

pub use batch::SpanBatch;
pub use columns::SpanColumns;
pub use error::Error;
pub use names::SpanNames;
pub use parquet::{Described, ParquetFile, store_report};
pub use query::{Database, span_columns, tables_of};
pub use spans::{GroupOf, ReadSpans};
pub use stored::Stored;
