//! End-to-end tests of the commands that read archives.

mod check;
mod compressed;
mod config;
mod convert;
mod convert_json;
mod critical_path;
mod cutting;
mod diff;
mod dump;
mod forms;
mod harness;
mod info;
mod kernel;
mod operations;
mod pictures;
mod plurals;
mod progress;
mod selection;
mod setup;
mod stats;
mod top;
mod view;
mod view_setup;
mod wrong;
mod wrong_input;
mod xray;
