//! What a reader finds after SIGKILL.
//!
//! Each tracer records in rounds, as a program with a main loop does, and may catch up after each
//! round but the last one. Then its process is killed. The number of scopes that were complete is
//! known.

use std::fs;
use std::io;
use std::path::Path;

use puffin::FrameData;
use trace_format::{EventKind, Reader, Record};

use crate::child::WARM_UP;
use crate::driver::{scratch_file, Worker};
use crate::peer::{Kind, Peer};
use crate::peers::{OUR_LAYER, OUR_SUBSCRIBER, RUNTIME};

/// Rounds of each tracer.
const ROUNDS: u64 = 20;

/// The result of one tracer.
#[derive(Debug)]
pub struct Survivors {
    /// The tracer.
    pub name: &'static str,
    /// Scopes that were complete when the process was killed.
    pub complete: u64,
    /// Scopes that a reader finds; `None` without a file.
    pub found: Option<u64>,
}

/// Records `scopes` scopes in rounds, kills the process, and reads its file.
///
/// # Errors
///
/// Fails if a child does not start or ends early, or on a file that its reader refuses.
pub fn kill(peer: &'static Peer, scopes: u64, scratch: &Path) -> io::Result<Survivors> {
    let file = scratch_file(scratch, peer, "killed");
    let mut worker = Worker::spawn(peer)?;
    worker.ask(&format!("start {}", file.display()))?;
    let in_round = scopes / ROUNDS;
    for round in 0..ROUNDS {
        if round != 0 {
            worker.ask("settle")?;
        }
        worker.run(Kind::Scope, in_round)?;
    }
    worker.kill()?;
    let found = read(peer.name, &file)?;
    Ok(Survivors { name: peer.name, complete: ROUNDS * (in_round + WARM_UP), found })
}

/// Returns the number of scopes in the file of a killed process.
fn read(name: &str, file: &Path) -> io::Result<Option<u64>> {
    match name {
        RUNTIME | OUR_LAYER | OUR_SUBSCRIBER => recover(file).map(Some),
        _ if !file.exists() => Ok(None),
        "tracing-chrome" => json_ends(file).map(Some),
        "puffin" => frames(file).map(Some),
        _ => Err(io::Error::other(format!("the file of {name} has no reader here"))),
    }
}

/// Counts scopes after `trace recover`.
fn recover(file: &Path) -> io::Result<u64> {
    let recovered = trace_manager::recover(file).map_err(io::Error::other)?;
    let mut reader = Reader::new(fs::File::open(recovered.archive)?);
    let mut scopes = 0;
    while let Some(item) = reader.next().map_err(io::Error::other)? {
        if let Record::Event(event) = item.record {
            let kind = event.kind;
            let ends = matches!(kind, EventKind::DurationEnd | EventKind::DurationComplete { .. });
            scopes += u64::from(ends);
        }
    }
    Ok(scopes)
}

/// Counts complete lines with the end of a span. The array of the document is not closed.
fn json_ends(file: &Path) -> io::Result<u64> {
    let text = fs::read_to_string(file)?;
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    Ok(complete.matches("\"ph\":\"E\"").count() as u64)
}

/// Counts the scopes of complete frames, without the outermost ones: one of the warm-up, one of the
/// round.
fn frames(file: &Path) -> io::Result<u64> {
    let mut input = io::BufReader::new(fs::File::open(file)?);
    let mut scopes = 0;
    while let Ok(Some(frame)) = FrameData::read_next(&mut input) {
        scopes += frame.meta().num_scopes.saturating_sub(2) as u64;
    }
    Ok(scopes)
}
