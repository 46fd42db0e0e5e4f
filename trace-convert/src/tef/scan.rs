//! A scanner for JSON: finds the ends of strings, numbers and values.
//!
//! The text of a [`Scanner`] may be incomplete, because it is read in pieces. The scanner then
//! returns [`Stop::More`], and the caller starts again with more text. No function is recursive:
//! deeply nested text cannot exhaust the stack.

use crate::json_error::Problem;

/// The maximum depth of nested values.
pub(super) const MAX_DEPTH: usize = 1000;

/// The reason why a scanner stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The text is incomplete.
    More,
    /// The text is not the expected JSON.
    Malformed {
        /// The offset from the start of the text, in bytes.
        at: usize,
        problem: Problem,
    },
}

/// A range of bytes of the text, less than 4 GiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Span {
    /// Callers limit the text to less than 4 GiB.
    #[inline]
    fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    /// Returns the range of `text`.
    #[inline]
    pub(super) fn of(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// The type and place of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Null,
    Bool(bool),
    /// The text of the number.
    Number(Span),
    /// The text between the quotes, and whether it has escapes.
    String(Span, bool),
    /// An object or array, including its brackets.
    Nested(Span),
}

/// A position in a text.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    text: &'a [u8],
    pub(super) at: usize,
    /// Whether the text is complete. Then its end also ends a number.
    is_complete: bool,
}

impl<'a> Scanner<'a> {
    #[inline]
    pub(super) fn new(text: &'a [u8], at: usize) -> Self {
        Self { text, at, is_complete: false }
    }

    /// Starts a complete text.
    pub(super) fn complete(text: &'a str) -> Self {
        Self { text: text.as_bytes(), at: 0, is_complete: true }
    }

    /// Skips white space, and returns the next byte.
    #[inline]
    pub(super) fn peek(&mut self) -> Result<u8, Stop> {
        loop {
            match self.text.get(self.at) {
                Some(b' ' | b'\n' | b'\t' | b'\r') => self.at += 1,
                Some(byte) => return Ok(*byte),
                None => return Err(Stop::More),
            }
        }
    }

    #[inline]
    pub(super) fn malformed<T>(&self, problem: Problem) -> Result<T, Stop> {
        Err(Stop::Malformed { at: self.at, problem })
    }

    /// Skips white space and `byte`.
    #[inline]
    pub(super) fn expect(&mut self, byte: u8, problem: Problem) -> Result<(), Stop> {
        if self.peek()? != byte {
            return self.malformed(problem);
        }
        self.at += 1;
        Ok(())
    }

    /// Skips a key and its colon. Not inlined, so that [`Scanner::string`] is inlined here.
    #[inline(never)]
    pub(super) fn key(&mut self) -> Result<(Span, bool), Stop> {
        self.expect(b'"', Problem::Key)?;
        let key = self.string()?;
        self.expect(b':', Problem::Colon)?;
        Ok(key)
    }

    /// Skips white space and a value.
    #[inline]
    pub(super) fn value(&mut self) -> Result<Found, Stop> {
        match self.peek()? {
            b'"' => {
                self.at += 1;
                let (span, escaped) = self.string()?;
                Ok(Found::String(span, escaped))
            }
            b'-' | b'0'..=b'9' => self.number().map(Found::Number),
            b'{' | b'[' => self.nested().map(Found::Nested),
            b't' => self.word(b"true").map(|()| Found::Bool(true)),
            b'f' => self.word(b"false").map(|()| Found::Bool(false)),
            b'n' => self.word(b"null").map(|()| Found::Null),
            _ => self.malformed(Problem::Value),
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Stop> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        if rest.starts_with(word) {
            self.at += word.len();
            return Ok(());
        }
        match word.starts_with(rest) {
            true => Err(Stop::More),
            false => self.malformed(Problem::Value),
        }
    }

    /// Skips a string, after its first quote.
    #[inline]
    pub(super) fn string(&mut self) -> Result<(Span, bool), Stop> {
        let start = self.at;
        let mut escaped = false;
        loop {
            self.at += plain_bytes(self.text.get(self.at..).unwrap_or_default());
            match self.text.get(self.at) {
                Some(b'"') => {
                    let span = Span::new(start, self.at);
                    self.at += 1;
                    return Ok((span, escaped));
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(_) => return self.malformed(Problem::ControlCharacter),
                None => return Err(Stop::More),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Stop> {
        match self.text.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 2;
                Ok(())
            }
            Some(b'u') => self.hex_digits(),
            Some(_) => self.malformed(Problem::Escape),
            None => Err(Stop::More),
        }
    }

    /// Skips `\u` and four digits.
    fn hex_digits(&mut self) -> Result<(), Stop> {
        for place in 2..6 {
            match self.text.get(self.at + place) {
                Some(byte) if byte.is_ascii_hexdigit() => {}
                Some(_) => return self.malformed(Problem::Escape),
                None => return Err(Stop::More),
            }
        }
        self.at += 6;
        Ok(())
    }

    /// Skips a number. Its end is known only if more text follows.
    #[inline]
    fn number(&mut self) -> Result<Span, Stop> {
        let start = self.at;
        if self.text.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        match self.text.get(self.at) {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.text.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.text.get(self.at) {
                self.at += 1;
            }
            self.digits()?;
        }
        match self.text.get(self.at) {
            Some(b'0'..=b'9' | b'.' | b'-' | b'+' | b'a'..=b'z' | b'A'..=b'Z') => {
                self.malformed(Problem::Number)
            }
            None if !self.is_complete => Err(Stop::More),
            _ => Ok(Span::new(start, self.at)),
        }
    }

    /// Skips one or more digits.
    #[inline]
    fn digits(&mut self) -> Result<(), Stop> {
        match self.text.get(self.at) {
            Some(b'0'..=b'9') => self.at += 1,
            Some(_) => return self.malformed(Problem::Number),
            None => return Err(Stop::More),
        }
        while let Some(b'0'..=b'9') = self.text.get(self.at) {
            self.at += 1;
        }
        Ok(())
    }

    /// Skips an object or array.
    fn nested(&mut self) -> Result<Span, Stop> {
        let start = self.at;
        let mut open = Open::default();
        loop {
            let done = match self.peek()? {
                byte @ (b'{' | b'[') => self.begin(byte, &mut open)?,
                _ => {
                    self.value()?;
                    true
                }
            };
            if done && self.after_value(&mut open)? {
                return Ok(Span::new(start, self.at));
            }
        }
    }

    /// Skips an opening bracket; returns `true` if the closing one follows.
    fn begin(&mut self, bracket: u8, open: &mut Open) -> Result<bool, Stop> {
        let is_object = bracket == b'{';
        if !open.push(is_object) {
            return self.malformed(Problem::TooDeep);
        }
        self.at += 1;
        let closing = if is_object { b'}' } else { b']' };
        if self.peek()? == closing {
            self.at += 1;
            open.pop();
            return Ok(true);
        }
        if is_object {
            self.key()?;
        }
        Ok(false)
    }

    /// Skips the text between two values; returns `true` if all brackets are closed.
    fn after_value(&mut self, open: &mut Open) -> Result<bool, Stop> {
        loop {
            let Some(in_object) = open.top() else {
                return Ok(true);
            };
            match (self.peek()?, in_object) {
                (b',', _) => {
                    self.at += 1;
                    if in_object {
                        self.key()?;
                    }
                    return Ok(false);
                }
                (b'}', true) | (b']', false) => {
                    self.at += 1;
                    open.pop();
                }
                (_, true) => return self.malformed(Problem::CommaOrBrace),
                (_, false) => return self.malformed(Problem::CommaOrBracket),
            }
        }
    }
}

/// Returns whether `text` is one JSON value.
pub(crate) fn is_value(text: &str) -> bool {
    let mut scanner = Scanner::complete(text);
    u32::try_from(text.len()).is_ok()
        && scanner.value().is_ok()
        && scanner.peek() == Err(Stop::More)
}

/// The open brackets: a bit for each, which is set for `{`.
#[derive(Debug, Default)]
struct Open {
    depth: usize,
    bits: [u64; MAX_DEPTH.div_ceil(64)],
}

impl Open {
    /// Returns `false` if the nesting is too deep.
    fn push(&mut self, is_object: bool) -> bool {
        let (word, bit) = (self.depth / 64, self.depth % 64);
        if self.depth == MAX_DEPTH {
            return false;
        }
        if let Some(bits) = self.bits.get_mut(word) {
            *bits = (*bits & !(1 << bit)) | u64::from(is_object) << bit;
        }
        self.depth += 1;
        true
    }

    fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    fn top(&self) -> Option<bool> {
        let last = self.depth.checked_sub(1)?;
        self.bits.get(last / 64).map(|bits| bits >> (last % 64) & 1 == 1)
    }
}

/// Returns the number of bytes before the first quote, backslash or control character. It compares
/// eight bytes at a time.
#[inline]
pub(crate) fn plain_bytes(text: &[u8]) -> usize {
    let mut count = 0;
    let mut eights = text.chunks_exact(8);
    for eight in &mut eights {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(eight);
        let special = special_bytes(u64::from_le_bytes(bytes));
        if special != 0 {
            return count + special.trailing_zeros() as usize / 8;
        }
        count += 8;
    }
    let is_plain = |byte: &&u8| **byte >= b' ' && **byte != b'"' && **byte != b'\\';
    count + eights.remainder().iter().take_while(is_plain).count()
}

/// Sets the highest bit of each byte that is a quote, a backslash or a control character. It may
/// also be set in bytes above the first of these.
#[inline]
fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    let quotes = zeros(word ^ (ONES * b'"' as u64));
    let backslashes = zeros(word ^ (ONES * b'\\' as u64));
    let controls = word.wrapping_sub(ONES * b' ' as u64) & !word & HIGH;
    quotes | backslashes | controls
}

#[cfg(test)]
mod tests;
