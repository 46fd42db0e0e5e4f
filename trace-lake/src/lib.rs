//! SQL over traces, with Apache DataFusion embedded.
//!
//! A [`session`](session::session) has the tables of one archive, or those of a [`store`] of many.
//! An archive can have any format that the command `trace` reads. Each query reads it as a stream
//! of Arrow batches, so memory does not grow with the archive, except for what a query itself
//! collects; sorting uses temporary files. A store has the tables as Parquet files.
//!
//! - [`tables`] has the tables, with the type and the unit of each column.
//! - [`views`] has the tables of Perfetto's trace processor as views.
//! - [`functions`] has the functions of traces.
//! - [`output`] writes results.
//! - [`lake`] adds archives to a store, and compacts, removes and reports them. With the feature
//!   `cluster`, it runs queries of a store on several machines.
//! - [`otlp`] exports spans of requests to OpenTelemetry.
//!
//! The program `trace-query` is the command line of this library; `trace query` and `trace lake`
//! run it.
#![forbid(unsafe_code)]

pub mod archive;
mod arguments;
pub mod cli;
pub mod columns;
pub mod command;
mod damage;
pub mod directory;
mod exit;
pub mod export;
pub mod functions;
pub mod input;
pub mod lake;
mod memory;
pub mod message;
mod nesting;
pub mod otlp;
pub mod output;
mod panicked;
mod provider;
pub mod queries;
mod report;
mod rows;
mod scan;
pub mod session;
pub mod shell;
mod source;
mod sql;
mod stack;
pub mod statements;
pub mod store;
pub mod subject;
pub mod tables;
#[cfg(test)]
mod testing;
mod time_range;
mod times;
mod usage;
pub mod views;
