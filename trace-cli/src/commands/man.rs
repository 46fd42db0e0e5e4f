//! `trace man`

use std::fs;

use anyhow::{Context, Result};
use clap::CommandFactory;

use crate::cli::{Cli, ManArgs};
use crate::exit;

pub(crate) fn run(args: &ManArgs) -> Result<u8> {
    let failed = || format!("cannot write man pages to {}", args.dir.display());
    fs::create_dir_all(&args.dir).with_context(failed)?;
    clap_mangen::generate_to(Cli::command(), &args.dir).with_context(failed)?;
    Ok(exit::OK)
}
