//! `trace query` and `trace lake`
//!
//! The program `trace-query` has a query engine, which this command does without. It replaces this
//! process, so its exit status is that of the command. It also writes tables for `trace convert`.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{anyhow, Context, Result};
use rustix::fs::{access, Access};

use crate::cli::{LakeArgs, QueryArgs};
use crate::exit;
use crate::message::{say, HINT};

/// The program.
const PROGRAM: &str = "trace-query";

/// The first argument with which the program runs `trace lake`.
const LAKE: &str = "--lake";

pub(crate) fn run(args: &QueryArgs) -> Result<u8> {
    replace("query", &args.arguments)
}

pub(crate) fn lake(args: &LakeArgs) -> Result<u8> {
    let arguments: Vec<OsString> =
        [LAKE.into()].into_iter().chain(args.arguments.iter().cloned()).collect();
    replace("lake", &arguments)
}

/// Writes all tables of an input as Parquet files to a folder.
pub(crate) fn export(input: &Path, folder: &Path, instr_map: Option<&Path>) -> Result<u8> {
    let map = instr_map.into_iter().flat_map(|map| ["--instr-map".into(), map.into()]);
    let arguments = ["--export".into(), folder.into()].into_iter().chain(map);
    // A name that begins with `-` is not an option.
    let input = ["--".into(), input.into()];
    replace("query", &arguments.chain(input).collect::<Vec<OsString>>())
}

/// Replaces this process by the program.
fn replace(command: &str, arguments: &[OsString]) -> Result<u8> {
    let Some(program) = find() else {
        say(&format!(
            "`trace {command}` needs the program {PROGRAM}\
             {HINT}install it with `cargo install trace-lake`, in a checkout with \
             `cargo install --path trace-lake`"
        ));
        return Ok(exit::USAGE);
    };
    let error = Command::new(&program).args(arguments).exec();
    Err(anyhow!(error)).with_context(|| format!("cannot run {}", program.display()))
}

/// Returns the program beside this one, else that in a directory of `PATH`. An empty entry is not
/// the current directory, as it is in a shell.
fn find() -> Option<PathBuf> {
    let own = env::current_exe().ok().and_then(|own| Some(own.parent()?.to_owned()));
    let path = env::var_os("PATH").unwrap_or_default();
    let directories = own.into_iter().chain(env::split_paths(&path));
    let directories = directories.filter(|directory| !directory.as_os_str().is_empty());
    directories.map(|directory| directory.join(PROGRAM)).find(|program| is_executable(program))
}

fn is_executable(program: &Path) -> bool {
    program.is_file() && access(program, Access::EXEC_OK).is_ok()
}
