//! Where a lenient reader goes on behind what is wrong.
//!
//! Brackets and quotes are counted, but one of them may be what is wrong. So
//! the reader also goes on wherever something stands that can only be an event,
//! or the key of the events if they are still to come.

use std::io::Read;

use super::{check_utf8, Reader, State};
use crate::tef::error::{JsonError, Problem};
use crate::tef::scan::{Scanner, Stop};

/// Where it may go on, in bytes from where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// What is wrong ends here, as its brackets and quotes tell.
    End(usize),
    /// Here may be what is looked for.
    Perhaps(usize),
}

/// How far something wrong has been gone over.
///
/// A string that does not end in its line ends there.
#[derive(Debug)]
struct Wrong {
    state: State,
    /// The first byte of what is looked for: an event, or the key of the events.
    start: u8,
    /// Whether that has been told of the next byte.
    is_told: bool,
    /// The last byte that is no white space.
    before: u8,
    depth: u64,
    in_string: bool,
    is_escaped: bool,
    /// Whether an event has ended with a bracket: a comma is to follow.
    is_closed: bool,
}

impl Wrong {
    fn new(state: State, start: u8) -> Self {
        // An event that starts here is what is wrong.
        let is_told = matches!(state, State::Events { .. });
        let (before, depth, in_string, is_escaped, is_closed) = (0, 0, false, false, false);
        Self { state, start, is_told, before, depth, in_string, is_escaped, is_closed }
    }

    /// Goes over more of it.
    fn next(&mut self, text: &[u8]) -> Option<Place> {
        for (at, byte) in text.iter().enumerate() {
            // A value of a member is none.
            if *byte == self.start && self.before != b':' && !self.is_told {
                self.is_told = true;
                return Some(Place::Perhaps(at));
            }
            self.is_told = false;
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
            if let Some(behind) = end {
                return Some(Place::End(at + behind));
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

    /// Tells whether the member ends before this byte.
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
    /// Goes to where the document may go on.
    pub(super) fn skip(&mut self) -> Result<(), JsonError> {
        if let State::Members { comma: true } = self.state {
            self.leave_out(usize::from(self.source.rest().first() == Some(&b',')));
        }
        let start = if self.has_events { b'{' } else { b't' };
        let mut wrong = Wrong::new(self.state, start);
        loop {
            match wrong.next(self.source.rest()) {
                Some(Place::End(end)) => {
                    self.leave_out(end);
                    self.state = match self.state {
                        State::Members { .. } => State::Members { comma: true },
                        _ => State::Events { comma: wrong.is_closed },
                    };
                    return Ok(());
                }
                Some(Place::Perhaps(start)) => {
                    self.leave_out(start);
                    if self.goes_on()? {
                        return Ok(());
                    }
                }
                None => {
                    self.leave_out(self.source.rest().len());
                    if !self.source.fill()? {
                        self.state = State::End;
                        return Ok(());
                    }
                }
            }
        }
    }

    fn leave_out(&mut self, bytes: usize) {
        self.skipped.bytes += bytes as u64;
        self.source.at += bytes;
    }

    /// Goes to the event that stands here, or the first one if it is the key of
    /// the events; false if it is neither.
    fn goes_on(&mut self) -> Result<bool, JsonError> {
        loop {
            let found = match self.has_events {
                true => self.stands_event(),
                false => self.stands_key(),
            };
            match found {
                Ok(start) => {
                    self.source.at += start;
                    self.has_events = true;
                    self.state = State::Events { comma: false };
                    return Ok(true);
                }
                Err(Stop::Wrong { .. }) => return Ok(false),
                Err(Stop::More) => {
                    if self.is_too_large() || !self.source.fill()? {
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// An event has to say what it is; what is within one mostly does not.
    fn stands_event(&mut self) -> Result<usize, Stop> {
        let rest = self.source.rest();
        let mut scanner = Scanner::new(rest, 0);
        self.parsed.parse(&mut scanner, rest)?;
        check_utf8(rest.get(..scanner.at).unwrap_or_default())?;
        match self.parsed.phase {
            Some(_) => Ok(0),
            None => scanner.wrong(Problem::Event),
        }
    }

    /// The quote before the key may have been taken for the end of a string.
    fn stands_key(&self) -> Result<usize, Stop> {
        const KEY: &[u8] = b"traceEvents\"";
        let rest = self.source.rest();
        let mut scanner = Scanner::new(rest, KEY.len());
        if rest.get(..KEY.len()).ok_or(Stop::More)? != KEY {
            return scanner.wrong(Problem::Key);
        }
        scanner.expect(b':', Problem::Colon)?;
        scanner.expect(b'[', Problem::NoEvents)?;
        Ok(scanner.at)
    }
}
