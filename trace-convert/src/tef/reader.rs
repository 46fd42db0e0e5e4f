//! The reader of documents, event by event.

mod recovery;

use std::io::Read;

use super::event::Event;
use super::parsed::Parsed;
use super::scan::{Found, Scanner, Span, Stop};
use super::source::Source;
use super::value::{Text, Value};
use crate::json_error::{JsonError, Problem};

/// The layout of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// An array of events. It may be unclosed, because killed programs leave such documents.
    Array,
    /// An object with the events in `traceEvents`.
    Object,
}

/// A part of a document.
#[derive(Debug, Clone, Copy)]
pub enum Item<'a> {
    /// An event.
    Event(Event<'a>),
    /// A member of the document other than `traceEvents`.
    Member(Member<'a>),
}

/// A member of a document other than `traceEvents`, such as `displayTimeUnit`, `systemTraceEvents`,
/// `stackFrames`, `samples` or `otherData`.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    /// The key.
    pub key: Text<'a>,
    /// The value.
    pub value: Value<'a>,
    /// The JSON text of the value.
    pub written: &'a str,
}

/// The limits of a [`Reader`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The maximum size of an event or member in bytes: 256 MiB by default, 1 GiB at most. One of
    /// them is in memory at a time.
    pub value_bytes: u32,
    /// Whether malformed parts are skipped and counted. `false` by default.
    pub lenient: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { value_bytes: 256 << 20, lenient: false }
    }
}

/// The maximum of [`Limits::value_bytes`].
const MAX_VALUE_BYTES: u32 = 1 << 30;

/// The skipped parts of a document.
#[derive(Debug, Default)]
pub struct Skipped {
    /// The number of events and members. Adjacent ones that cannot be separated count as one.
    pub parts: u64,
    /// Their total size.
    pub bytes: u64,
    /// The first error.
    pub first: Option<JsonError>,
}

/// Reads a document of the Trace Event Format from `R`.
///
/// It reads in large blocks: `R` needs no buffer. One event or member is in memory at a time.
///
/// Like viewers, it accepts a comma after the last event, and an unclosed array of events.
///
/// # Examples
///
/// ```
/// use trace_convert::tef::{Field, Item, Reader};
///
/// let json = r#"[{"name": "poll", "ph": "X", "ts": 1.5, "dur": 2, "pid": 1, "tid": 2}]"#;
/// let mut reader = Reader::new(json.as_bytes());
/// while let Some(item) = reader.next()? {
///     if let Item::Event(event) = item {
///         println!("{:?} at {:?}", event.phase(), event.get(Field::Timestamp));
///     }
/// }
/// # Ok::<(), trace_convert::tef::JsonError>(())
/// ```
#[derive(Debug)]
pub struct Reader<R> {
    source: Source<R>,
    parsed: Parsed,
    limits: Limits,
    form: Option<Form>,
    state: State,
    /// Whether an array of events was found.
    has_events: bool,
    skipped: Skipped,
    shift: u64,
}

/// The state of the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    /// In the document's object; `comma` if one must precede the next member.
    Members {
        comma: bool,
    },
    /// In the array of events; `comma` if one must precede the next event.
    Events {
        comma: bool,
    },
    /// After the last bracket.
    After,
    End,
}

/// The next part. Ranges are relative to the source's position.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Only the state has changed.
    Moved,
    Event,
    Member {
        key: (Span, bool),
        value: Found,
        start: usize,
    },
    End,
}

impl<R: Read> Reader<R> {
    /// Starts reading a document from its first byte.
    #[must_use]
    pub fn new(input: R) -> Self {
        Self::with_limits(input, Limits::default())
    }

    /// Starts reading a document with limits.
    #[must_use]
    pub fn with_limits(input: R, limits: Limits) -> Self {
        let limits = Limits { value_bytes: limits.value_bytes.min(MAX_VALUE_BYTES), ..limits };
        Self {
            source: Source::new(input, limits.value_bytes as usize),
            parsed: Parsed::default(),
            limits,
            form: None,
            state: State::Start,
            has_events: false,
            skipped: Skipped::default(),
            shift: 0,
        }
    }

    /// Sets the nanoseconds that are added to all times in an archive of this document, because FXT
    /// has no negative times. [`shift`](fn@super::shift) returns the required number.
    #[must_use]
    pub fn shifted(self, nanos: u64) -> Self {
        Self { shift: nanos, ..self }
    }

    pub(super) fn shift(&self) -> u64 {
        self.shift
    }

    /// Returns the document's layout. Reads its first bracket if it was not read yet.
    ///
    /// # Errors
    ///
    /// Reading failed, or the input is not a document.
    pub fn form(&mut self) -> Result<Form, JsonError> {
        loop {
            if let Some(form) = self.form {
                return Ok(form);
            }
            match self.start() {
                Ok((_, end)) => self.source.at += end,
                Err(Stop::Malformed { at, problem }) => return Err(self.error(at, problem)),
                Err(Stop::More) => {
                    if !self.source.fill()? {
                        let length = self.source.rest().len();
                        return Err(self.error(length, Problem::Document));
                    }
                }
            }
        }
    }

    /// Returns the parts that were skipped so far.
    #[must_use]
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// Returns the skipped parts after the last item.
    #[must_use]
    pub fn into_skipped(self) -> Skipped {
        self.skipped
    }

    /// Returns the next part of the document, `None` at its end.
    ///
    /// # Errors
    ///
    /// Reading failed, or the document is malformed. The next call then returns `None`. A lenient
    /// reader skips malformed parts instead.
    // The item borrows from the reader, which an iterator cannot express.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Item<'_>>, JsonError> {
        let (step, end) = match self.advance() {
            Ok(found) => found,
            Err(error) => {
                self.state = State::End;
                return Err(error);
            }
        };
        let start = self.source.at;
        self.source.at += end;
        let text = self.text(start, end);
        Ok(match step {
            Step::Event => Some(Item::Event(Event { text, parsed: &self.parsed })),
            Step::Member { key: (key, is_escaped), value, start } => Some(Item::Member(Member {
                key: Text::new(key.of(text), is_escaped),
                value: Value::of(text, value),
                written: text.get(start..).unwrap_or_default(),
            })),
            Step::Moved | Step::End => None,
        })
    }

    /// Returns the next step that is an item or the end, and its length.
    fn advance(&mut self) -> Result<(Step, usize), JsonError> {
        loop {
            match self.try_step() {
                Ok((Step::Moved, end)) => self.source.at += end,
                Ok(found) => return Ok(found),
                Err(Stop::More) if self.is_too_large() => self.failed(0, Problem::TooLarge)?,
                Err(Stop::More) => {
                    if !self.source.fill()? {
                        self.ended()?;
                    }
                }
                Err(Stop::Malformed { at, problem }) => self.failed(at, problem)?,
            }
        }
    }

    fn try_step(&mut self) -> Result<(Step, usize), Stop> {
        match self.state {
            State::Events { comma } => self.in_events(comma),
            State::Start => self.start(),
            State::Members { comma } => self.in_members(comma),
            State::After => {
                let mut scanner = Scanner::new(self.source.rest(), 0);
                scanner.peek()?;
                scanner.malformed(Problem::TrailingData)
            }
            State::End => Ok((Step::End, 0)),
        }
    }

    fn start(&mut self) -> Result<(Step, usize), Stop> {
        const MARK: &[u8] = b"\xef\xbb\xbf";
        let rest = self.source.rest();
        if rest.len() < MARK.len() && MARK.starts_with(rest) {
            return Err(Stop::More);
        }
        let mark = if rest.starts_with(MARK) { MARK.len() } else { 0 };
        let mut scanner = Scanner::new(rest, mark);
        let (form, state) = match scanner.peek()? {
            b'[' => (Form::Array, State::Events { comma: false }),
            b'{' => (Form::Object, State::Members { comma: false }),
            _ => return scanner.malformed(Problem::Document),
        };
        let end = scanner.at + 1;
        self.has_events = form == Form::Array;
        (self.form, self.state) = (Some(form), state);
        Ok((Step::Moved, end))
    }

    fn in_events(&mut self, comma: bool) -> Result<(Step, usize), Stop> {
        let mut scanner = Scanner::new(self.source.rest(), 0);
        match scanner.peek()? {
            b']' => {
                let end = scanner.at + 1;
                self.state = match self.form {
                    Some(Form::Array) => State::After,
                    _ => State::Members { comma: true },
                };
                return Ok((Step::Moved, end));
            }
            b',' if comma => scanner.at += 1,
            _ if comma => return scanner.malformed(Problem::CommaOrBracket),
            _ => {}
        }
        self.state = State::Events { comma: false };
        match scanner.peek() {
            // An event must start at the source's position.
            _ if scanner.at > 0 => Ok((Step::Moved, scanner.at)),
            Ok(b'{') => self.try_event(),
            _ => scanner.malformed(Problem::Event),
        }
    }

    fn try_event(&mut self) -> Result<(Step, usize), Stop> {
        let rest = self.source.rest();
        let mut scanner = Scanner::new(rest, 0);
        self.parsed.parse(&mut scanner, rest)?;
        check_utf8(rest.get(..scanner.at).unwrap_or_default())?;
        self.state = State::Events { comma: true };
        Ok((Step::Event, scanner.at))
    }

    fn in_members(&mut self, comma: bool) -> Result<(Step, usize), Stop> {
        let rest = self.source.rest();
        let mut scanner = Scanner::new(rest, 0);
        match scanner.peek()? {
            b'}' => {
                if !self.has_events {
                    return scanner.malformed(Problem::NoEvents);
                }
                let end = scanner.at + 1;
                self.state = State::After;
                return Ok((Step::Moved, end));
            }
            b',' if comma => {
                scanner.at += 1;
                // Viewers accept a trailing comma here as well.
                if scanner.peek()? == b'}' {
                    let end = scanner.at;
                    return Ok((Step::Moved, end));
                }
            }
            _ if comma => return scanner.malformed(Problem::CommaOrBrace),
            _ => {}
        }
        let key = scanner.key()?;
        let first = scanner.peek()?;
        if is_trace_events(rest, key) {
            if first != b'[' {
                return scanner.malformed(Problem::NoEvents);
            }
            self.has_events = true;
            self.state = State::Events { comma: false };
            return Ok((Step::Moved, scanner.at + 1));
        }
        let start = scanner.at;
        let value = scanner.value()?;
        let end = scanner.at;
        check_utf8(rest.get(..end).unwrap_or_default())?;
        self.state = State::Members { comma: true };
        Ok((Step::Member { key, value, start }, end))
    }

    /// Handles the end of the input.
    fn ended(&mut self) -> Result<(), JsonError> {
        let rest = self.source.rest();
        let is_between = rest.iter().all(u8::is_ascii_whitespace);
        let is_complete = match (self.state, self.form) {
            (State::After, _) => true,
            (State::Events { .. }, Some(Form::Array)) => is_between,
            _ => false,
        };
        let length = rest.len();
        match (is_complete, self.state) {
            (true, _) => {
                self.state = State::End;
                Ok(())
            }
            (false, State::Start) => Err(self.error(length, Problem::Document)),
            (false, _) => {
                self.skip_or_fail(length, Problem::End)?;
                self.skip()
            }
        }
    }

    /// Handles a defect `at` bytes after the source's position.
    fn failed(&mut self, at: usize, problem: Problem) -> Result<(), JsonError> {
        self.skip_or_fail(at, problem)?;
        let (before, rest) = self.source.rest().split_at(at.min(self.source.rest().len()));
        let is_between = before.iter().all(u8::is_ascii_whitespace);
        match (self.state, rest.first()) {
            // A missing comma.
            (State::Events { comma: true }, Some(b'{')) => {
                self.state = State::Events { comma: false };
            }
            (State::Members { comma: true }, Some(b'"')) if is_between => {
                self.state = State::Members { comma: false };
            }
            // The end of a document without events.
            (State::Members { .. }, Some(b'}')) if is_between => {
                self.source.at += at + 1;
                self.state = State::After;
            }
            _ => self.skip()?,
        }
        Ok(())
    }

    fn skip_or_fail(&mut self, at: usize, problem: Problem) -> Result<(), JsonError> {
        let error = self.error(at, problem);
        if !self.limits.lenient || self.form.is_none() {
            return Err(error);
        }
        self.skipped.parts += 1;
        self.skipped.first.get_or_insert(error);
        Ok(())
    }

    fn error(&self, at: usize, problem: Problem) -> JsonError {
        JsonError::Malformed { position: self.source.position(at), problem }
    }

    fn is_too_large(&self) -> bool {
        self.source.rest().len() > self.limits.value_bytes as usize
    }

    /// Returns text that was checked to be UTF-8.
    fn text(&self, start: usize, length: usize) -> &str {
        std::str::from_utf8(self.source.window(start, length)).unwrap_or_default()
    }
}

fn is_trace_events(text: &[u8], (key, is_escaped): (Span, bool)) -> bool {
    let written = text.get(key.start as usize..key.end as usize).unwrap_or_default();
    let written = std::str::from_utf8(written).unwrap_or_default();
    Text::new(written, is_escaped).to_str() == "traceEvents"
}

/// Checks that text is UTF-8.
#[inline]
fn check_utf8(text: &[u8]) -> Result<(), Stop> {
    if text.is_ascii() {
        return Ok(());
    }
    match std::str::from_utf8(text) {
        Ok(_) => Ok(()),
        Err(error) => Err(Stop::Malformed { at: error.valid_up_to(), problem: Problem::Utf8 }),
    }
}

#[cfg(test)]
mod tests;
