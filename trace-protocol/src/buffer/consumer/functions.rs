//! Replaces the function records of a chunk by duration records.
//!
//! The result is what a chunk without function records has: a call that ended is a duration
//! complete, an open one is a duration begin with a spare word. A tail exit adds the argument
//! `tail_exit`.

use trace_format::layout::{argument, argument_header, event, ArgumentType, EventType, StringRef};

use crate::buffer::function::{
    base_of, event_header_of, function_words, Ticks, Type, BASE, CALL_WORDS, TAIL_EXIT,
};

use super::frame::record_words;

/// Words of a duration begin with a spare word, and of a duration complete.
const SCOPE_WORDS: usize = 3;

/// The name of the argument of a tail exit.
const TAIL_EXIT_NAME: &[u8] = b"tail_exit";

/// Words of this argument: a header, and the name.
const TAIL_EXIT_WORDS: usize = 3;

/// The most words that a call becomes.
const MOST_WORDS: usize = SCOPE_WORDS + TAIL_EXIT_WORDS;

/// Words of a piece, behind whose last record the next piece begins. The chunks of a provider of
/// this project have fewer. A damaged one may be as large as a rolling buffer.
const PIECE_WORDS: usize = SCOPE_WORDS << 16;

/// Returns the most words that the records of a chunk become, if it may have function records.
pub fn most_words(chunk: usize) -> usize {
    chunk.saturating_add(chunk / CALL_WORDS * (MOST_WORDS - CALL_WORDS))
}

/// Words of the record at the begin of `words`, of a chunk that may have function records. `None`
/// if its size is 0 or exceeds the words.
pub(super) fn frame(words: &[u64]) -> Option<usize> {
    let header = *words.first()?;
    let size = function_words(header).or_else(|| record_words(header));
    size.filter(|size| *size <= words.len())
}

/// Replaces function records, piece by piece. Its memory is used again for each chunk.
#[derive(Debug, Default)]
pub(super) struct Functions {
    /// The records of the piece.
    pub(super) words: Vec<u64>,
    base: Option<u64>,
    /// Calls of the chunk without a base.
    pub(super) malformed: u64,
}

impl Clone for Functions {
    /// Of a chunk, nothing is left for the next one.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Functions {
    /// Begins a chunk.
    pub(super) fn begin_chunk(&mut self) {
        (self.base, self.malformed) = (None, 0);
    }

    /// Takes the records of the next piece of a chunk, up to the first word that is no header.
    /// Returns the rest of the chunk.
    pub(super) fn expand<'a>(&mut self, mut chunk: &'a [u64]) -> &'a [u64] {
        self.words.clear();
        while self.words.len() < PIECE_WORDS {
            let Some(&header) = chunk.first().filter(|header| **header != 0) else { return &[] };
            let Some((record, rest)) = frame(chunk).and_then(|size| chunk.split_at_checked(size))
            else {
                // It does not frame without the words behind it either.
                self.words.push(header);
                return &[];
            };
            match record {
                [base] if Type::get(*base) == BASE => self.base = Some(base_of(*base)),
                [call, end] if function_words(*call).is_some() => self.call(*call, *end),
                _ => self.words.extend_from_slice(record),
            }
            chunk = rest;
        }
        chunk
    }

    fn call(&mut self, call: u64, end: u64) {
        let Some(base) = self.base else {
            self.malformed += 1;
            return;
        };
        let start = base.wrapping_add(Ticks::get(call));
        if end & TAIL_EXIT != 0 {
            return self.tail_exit(call, start, end & !TAIL_EXIT);
        }
        let event_type = match end {
            0 => EventType::DurationBegin,
            _ => EventType::DurationComplete,
        };
        let header = event_header_of(call, event_type, SCOPE_WORDS);
        self.words.extend([header, start, end]);
    }

    fn tail_exit(&mut self, call: u64, start: u64, end: u64) {
        let header = event_header_of(call, EventType::DurationComplete, MOST_WORDS);
        self.words.extend([event::ArgumentCount::set(header, 1), start]);
        self.words.extend(tail_exit_argument());
        self.words.push(end);
    }
}

/// Returns an argument `tail_exit` that is true.
fn tail_exit_argument() -> [u64; TAIL_EXIT_WORDS] {
    let name = StringRef::inline(TAIL_EXIT_NAME.len());
    let header = argument_header(ArgumentType::Bool, TAIL_EXIT_WORDS, name);
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(TAIL_EXIT_NAME).for_each(|(byte, letter)| *byte = *letter);
    let bytes = u128::from_le_bytes(bytes);
    [argument::Bool::set(header, 1), bytes as u64, (bytes >> 64) as u64]
}

#[cfg(test)]
mod tests {
    use trace_format::{decode, Argument, EventKind, Record, Value};

    use crate::buffer::function::CALL;
    use crate::words::as_bytes;

    use super::*;

    /// As large as a rolling buffer, with more words in the archive.
    #[test]
    fn a_chunk_of_any_size_is_expanded_in_pieces() {
        let call = [CALL | 5 << 34, 200];
        let chunk = [vec![BASE | 7 << 4], call.repeat(500_000)].concat();
        let mut functions = Functions::default();
        functions.begin_chunk();
        let (mut rest, mut words, mut pieces) = (chunk.as_slice(), 0, 0);
        while !rest.is_empty() {
            rest = functions.expand(rest);
            assert!(functions.words.len() < PIECE_WORDS + MOST_WORDS);
            let mut scopes = functions.words.chunks_exact(SCOPE_WORDS);
            assert!(scopes.all(|scope| scope[1..] == [7 * 16 + 5, 200]), "the base is kept");
            (words, pieces) = (words + functions.words.len(), pieces + 1);
        }
        assert_eq!((words, functions.malformed), (500_000 * SCOPE_WORDS, 0));
        assert!(words <= most_words(chunk.len()) && pieces > 1);
    }

    #[test]
    fn a_tail_exit_has_an_argument() {
        let mut functions = Functions::default();
        functions.begin_chunk();
        let call = CALL | 1 << 4 | 2 << 19 | 5 << 34;
        assert!(functions.expand(&[BASE | 7 << 4, call, TAIL_EXIT | 200]).is_empty());
        let (record, appended) = decode::strict(as_bytes(&functions.words)).unwrap();
        let Record::Event(event) = record else { panic!("{record:?}") };
        assert_eq!((event.ticks, event.kind), (117, EventKind::DurationComplete { end: 200 }));
        let arguments: Vec<_> = event.arguments.iter().collect();
        assert_eq!(arguments, [Argument::new("tail_exit", Value::Bool(true))]);
        assert_eq!((appended, functions.words.len()), (0, MOST_WORDS));
        assert!(most_words(1 + CALL_WORDS) >= MOST_WORDS);
    }

    #[test]
    fn what_does_not_frame_ends_the_chunk_and_is_counted() {
        let mut functions = Functions::default();
        functions.begin_chunk();
        let broken = vec![0xffff_fff4; 1000];
        for header in [0x4, 0xfff4] {
            let chunk = [&[CALL, 0, header], &broken[..]].concat();
            assert!(functions.expand(&chunk).is_empty());
            assert_eq!(functions.words, [header]);
        }
        assert_eq!(functions.malformed, 2);
    }

    #[test]
    fn a_call_that_is_cut_by_the_end_of_its_chunk_does_not_frame() {
        let mut functions = Functions::default();
        functions.begin_chunk();
        assert!(functions.expand(&[BASE | 7 << 4, CALL]).is_empty());
        assert_eq!(functions.words, [CALL]);
    }
}
