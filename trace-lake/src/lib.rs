//! SQL over traces, with Apache DataFusion embedded.
//!
//! A [`session`](session::session) has the tables of one archive. The archive can have any format
//! that the command `trace` reads. Each query reads it as a stream of Arrow batches, so memory does
//! not grow with the archive, except for what a query itself collects; sorting uses temporary
//! files.
//!
//! - [`tables`] has the tables, with the type and the unit of each column.
//! - [`views`] has the tables of Perfetto's trace processor as views.
//! - [`functions`] has the functions of traces.
//! - [`output`] writes results.
//!
//! The program `trace-query` is the command line of this library; `trace query` runs it.
#![forbid(unsafe_code)]

pub mod archive;
mod arguments;
pub mod cli;
pub mod columns;
pub mod command;
pub mod directory;
pub mod export;
pub mod functions;
pub mod input;
pub mod message;
mod nesting;
pub mod output;
mod provider;
pub mod queries;
mod report;
mod rows;
mod scan;
pub mod session;
pub mod shell;
mod source;
mod sql;
pub mod statements;
pub mod tables;
#[cfg(test)]
mod testing;
mod time_range;
mod times;
mod usage;
pub mod views;
