//! LLVM's tools read what this crate writes, and this crate reads what LLVM's runtime writes.
//!
//! The tests need `llvm-xray-19`, `clang++-19` and its runtime: `.ci/xray` installs them and runs
//! the tests, which are ignored otherwise.

mod account;
#[path = "../common/mod.rs"]
mod common;
mod deviations;
mod maps;
mod ours;
mod reports;
mod text;
mod theirs;
mod tools;
mod typed;
mod versions;
mod yaml;
