//! `trace lake check`: which files of a store are damaged.

use std::io::{self, Write};

use anyhow::Result;
use futures::StreamExt;
use trace_convert::visible;

use super::amount::size;
use super::cli::CheckArgs;
use crate::exit::{FAILURE, OK};
use crate::message::describe;
use crate::store::log;
use crate::store::state::State;
use crate::store::verify::verify_or_decode;
use crate::store::Store;

/// The files that are read at once.
const READS: usize = 4;

pub(super) async fn run(args: &CheckArgs) -> Result<u8> {
    let store = Store::open(&args.store)?;
    let state = log::existing(&store).await?.state;
    let damaged = damaged(&store, &state).await;
    let mut stdout = io::stdout().lock();
    for message in &damaged {
        writeln!(stdout, "{}", visible(message))?;
    }
    writeln!(stdout, "{}", summary(&state, damaged.len()))?;
    Ok(if damaged.is_empty() { OK } else { FAILURE })
}

/// Returns a message for each damaged file, in the order of their paths.
pub(super) async fn damaged(store: &Store, state: &State) -> Vec<String> {
    let reads = state.files.values().map(|file| verify_or_decode(store, file));
    let messages = futures::stream::iter(reads).buffered(READS);
    let message = |verified: Result<()>| verified.err().map(|error| describe(error.as_ref()));
    messages.filter_map(|verified| async move { message(verified) }).collect().await
}

fn summary(state: &State, damaged: usize) -> String {
    let bytes = size(state.files.values().map(|file| file.bytes).sum());
    let unhashed = state.files.values().filter(|file| file.sha256.is_none()).count();
    let unhashed = match unhashed {
        0 => String::new(),
        number => format!("; {number} have no SHA-256 in the log, and were only decoded"),
    };
    format!("{} files, {bytes}: {damaged} damaged{unhashed}", state.files.len())
}
