//! Recovery of a lenient reader after malformed text.
//!
//! Recovery counts brackets and quotes, but these may be malformed themselves. Therefore the reader
//! also continues at any text that can only be an event, or the key of the events if it was not
//! read yet.

use std::io::Read;

use super::{check_utf8, Reader, State};
use crate::json_error::{JsonError, Problem};
use crate::tef::field::Field;
use crate::tef::scan::{Scanner, Stop};

/// A place where the reader may continue, in bytes from the position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The end of the malformed part, by its brackets and quotes.
    End(usize),
    /// A candidate: it may be the start of an event or of the events' key.
    Candidate(usize),
}

/// The state of skipping a malformed part.
///
/// A line feed ends a string.
#[derive(Debug)]
struct Recovery {
    state: State,
    /// The first byte of a candidate: of an event, or of the key of the events.
    start: u8,
    /// Whether the next byte was returned as a candidate already.
    is_returned: bool,
    /// The last byte that is not white space.
    before: u8,
    depth: u64,
    in_string: bool,
    is_escaped: bool,
    /// Whether an event has ended with a bracket, so that a comma must follow.
    is_closed: bool,
}

impl Recovery {
    fn new(state: State, start: u8) -> Self {
        // The event that starts here is malformed.
        let is_returned = matches!(state, State::Events { .. });
        let (before, depth, in_string, is_escaped, is_closed) = (0, 0, false, false, false);
        Self { state, start, is_returned, before, depth, in_string, is_escaped, is_closed }
    }

    /// Skips more text.
    fn next(&mut self, text: &[u8]) -> Option<Place> {
        for (at, byte) in text.iter().enumerate() {
            // A value of a member is not a candidate.
            if *byte == self.start && self.before != b':' && !self.is_returned {
                self.is_returned = true;
                return Some(Place::Candidate(at));
            }
            self.is_returned = false;
            if !byte.is_ascii_whitespace() {
                self.before = *byte;
            }
            let end = match self.state {
                _ if self.in_string => {
                    self.string(*byte);
                    None
                }
                State::Events { .. } => self.event_ends_at(*byte),
                State::Members { .. } => self.member_ends_at(*byte).then_some(0),
                _ => None,
            };
            if let Some(length) = end {
                return Some(Place::End(at + length));
            }
        }
        None
    }

    /// Returns 1 if the event ends with this byte, 0 if before it.
    fn event_ends_at(&mut self, byte: u8) -> Option<usize> {
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b']' | b',' if self.depth == 0 => return Some(usize::from(byte == b',')),
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.is_closed = self.depth == 0;
                return self.is_closed.then_some(1);
            }
            _ => {}
        }
        None
    }

    /// Returns whether the member ends before this byte.
    fn member_ends_at(&mut self, byte: u8) -> bool {
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b',' if self.depth == 0 => return true,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        false
    }

    fn string(&mut self, byte: u8) {
        let was_escaped = std::mem::take(&mut self.is_escaped);
        match byte {
            b'\n' => self.in_string = false,
            b'\\' => self.is_escaped = !was_escaped,
            b'"' => self.in_string = was_escaped,
            _ => {}
        }
    }
}

impl<R: Read> Reader<R> {
    /// Skips to a place where the reader can continue.
    pub(super) fn skip(&mut self) -> Result<(), JsonError> {
        if let State::Members { comma: true } = self.state {
            self.discard(usize::from(self.source.rest().first() == Some(&b',')));
        }
        let start = if self.has_events { b'{' } else { b't' };
        let mut recovery = Recovery::new(self.state, start);
        loop {
            match recovery.next(self.source.rest()) {
                Some(Place::End(end)) => {
                    self.discard(end);
                    self.state = match self.state {
                        State::Members { .. } => State::Members { comma: true },
                        _ => State::Events { comma: recovery.is_closed },
                    };
                    return Ok(());
                }
                Some(Place::Candidate(start)) => {
                    self.discard(start);
                    if self.resume()? {
                        return Ok(());
                    }
                }
                None => {
                    self.discard(self.source.rest().len());
                    if !self.source.fill()? {
                        self.state = State::End;
                        return Ok(());
                    }
                }
            }
        }
    }

    fn discard(&mut self, bytes: usize) {
        self.skipped.bytes += bytes as u64;
        self.source.at += bytes;
    }

    /// Continues at the candidate, an event or the key of the events; returns `false` if it is
    /// neither.
    fn resume(&mut self) -> Result<bool, JsonError> {
        loop {
            let found = match self.has_events {
                true => self.check_event(),
                false => self.check_key(),
            };
            match found {
                Ok(start) => {
                    self.source.at += start;
                    self.has_events = true;
                    self.state = State::Events { comma: false };
                    return Ok(true);
                }
                Err(Stop::Malformed { .. }) => return Ok(false),
                Err(Stop::More) => {
                    if self.is_too_large() || !self.source.fill()? {
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// Checks for an event, which needs `ph`. Objects within events rarely have it.
    fn check_event(&mut self) -> Result<usize, Stop> {
        let rest = self.source.rest();
        let mut scanner = Scanner::new(rest, 0);
        self.parsed.parse(&mut scanner, rest)?;
        check_utf8(rest.get(..scanner.at).unwrap_or_default())?;
        match self.parsed.fields[Field::Phase as usize] {
            Some(_) => Ok(0),
            None => scanner.malformed(Problem::Event),
        }
    }

    /// Checks for the key of the events, without its first quote, which may have ended a string.
    fn check_key(&self) -> Result<usize, Stop> {
        const KEY: &[u8] = b"traceEvents\"";
        let rest = self.source.rest();
        let mut scanner = Scanner::new(rest, KEY.len());
        if rest.get(..KEY.len()).ok_or(Stop::More)? != KEY {
            return scanner.malformed(Problem::Key);
        }
        scanner.expect(b':', Problem::Colon)?;
        scanner.expect(b'[', Problem::NoEvents)?;
        Ok(scanner.at)
    }
}
