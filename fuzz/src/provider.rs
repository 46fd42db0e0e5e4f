//! What any provider writes first, and the words that it writes then.

use std::sync::OnceLock;

use trace_protocol::archive::{self, ClockSample, Identity};
use trace_protocol::message::ClockSource;

use crate::choices::PROCESS;

/// Returns the words of an archive up to the first record of its provider. They are the same for
/// all inputs: clocks are slow to read.
pub(crate) fn opening() -> &'static [u64] {
    static OPENING: OnceLock<Vec<u64>> = OnceLock::new();
    OPENING.get_or_init(new_opening)
}

fn new_opening() -> Vec<u64> {
    let identity = Identity {
        id: 1,
        name: "fuzz".to_owned(),
        process_name: "fuzz".to_owned(),
        pid: PROCESS as u32,
        uid: 0,
        clock: ClockSource::Boottime,
    };
    let mut words = Vec::new();
    archive::magic(&mut words);
    archive::opening(&mut words, &identity, 1_000_000_000, &ClockSample::now());
    words
}

/// The complete words in some bytes.
pub(crate) fn words_of(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let word = |word: &[u8]| u64::from_le_bytes(word.try_into().expect("these are 8 bytes"));
    bytes.chunks_exact(8).map(word)
}
