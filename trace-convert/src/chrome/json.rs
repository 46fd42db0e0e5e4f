//! A writer of JSON text.

use std::io::{self, Write};
use std::ops::Range;

use data_encoding::BASE64;
use trace_analyze::MAX_SAFE_INTEGER;

use crate::tef::scan::plain_bytes;

/// The maximum text that is buffered until the first time is known, in bytes.
const MAX_WAITING_BYTES: usize = 16 << 20;

/// The size of the writes to the output, in bytes.
const PIECE_BYTES: usize = 64 << 10;

const NO_FAILURE: &str = "writing strings and numbers to memory does not fail";

/// JSON text that is not written to the output yet.
#[derive(Debug, Default)]
pub(super) struct Json {
    text: Vec<u8>,
    /// The ranges in `text` of the current object's keys, with quotes.
    keys: Vec<Range<usize>>,
    /// The places in `text` where times are missing.
    missing_times: Vec<usize>,
}

impl Json {
    /// Writes the text if it is large enough.
    #[inline]
    pub(super) fn write_full_pieces(&mut self, output: &mut impl Write) -> io::Result<()> {
        let is_waiting = !self.missing_times.is_empty() && self.text.len() < MAX_WAITING_BYTES;
        if self.text.len() < PIECE_BYTES || is_waiting {
            return Ok(());
        }
        self.write_all(output)
    }

    /// Writes the text. Missing times become 0.
    pub(super) fn write_all(&mut self, output: &mut impl Write) -> io::Result<()> {
        self.fill_times(0);
        output.write_all(&self.text)?;
        self.text.clear();
        // A huge record must not keep its memory.
        self.text.shrink_to(4 * PIECE_BYTES);
        Ok(())
    }

    /// Marks a place for a time, which [`Json::fill_times`] adds.
    pub(super) fn missing_time(&mut self) {
        self.missing_times.push(self.text.len());
    }

    /// Adds the missing times.
    pub(super) fn fill_times(&mut self, nanos: u64) {
        if self.missing_times.is_empty() {
            return;
        }
        let (text, places) =
            (std::mem::take(&mut self.text), std::mem::take(&mut self.missing_times));
        let mut from = 0;
        for place in places {
            self.text.extend_from_slice(text.get(from..place).unwrap_or_default());
            self.micros(nanos);
            from = place;
        }
        self.text.extend_from_slice(text.get(from..).unwrap_or_default());
    }

    /// Adds raw JSON.
    #[inline]
    pub(super) fn raw(&mut self, json: &str) {
        self.text.extend_from_slice(json.as_bytes());
    }

    /// Adds a string in quotes, with escapes.
    #[inline]
    pub(super) fn string(&mut self, value: &str) {
        match plain_bytes(value.as_bytes()) == value.len() {
            true => self.plain(value),
            false => serde_json::to_writer(&mut self.text, value).expect(NO_FAILURE),
        }
    }

    #[inline]
    pub(super) fn unsigned(&mut self, value: u64) {
        serde_json::to_writer(&mut self.text, &value).expect(NO_FAILURE);
    }

    #[inline]
    pub(super) fn signed(&mut self, value: i64) {
        serde_json::to_writer(&mut self.text, &value).expect(NO_FAILURE);
    }

    /// Adds an integer, as a string if viewers would round the number.
    pub(super) fn safe_unsigned(&mut self, value: u64) {
        let quote = if value > MAX_SAFE_INTEGER { "\"" } else { "" };
        self.raw(quote);
        self.unsigned(value);
        self.raw(quote);
    }

    /// Adds an integer, as a string if viewers would round the number.
    pub(super) fn safe_signed(&mut self, value: i64) {
        let quote = if value.unsigned_abs() > MAX_SAFE_INTEGER { "\"" } else { "" };
        self.raw(quote);
        self.signed(value);
        self.raw(quote);
    }

    /// Adds a number, or its name if JSON cannot express it.
    pub(super) fn double(&mut self, value: f64) {
        match value {
            _ if value.is_finite() => {
                serde_json::to_writer(&mut self.text, &value).expect(NO_FAILURE);
            }
            _ if value.is_nan() => self.raw("\"NaN\""),
            _ if value > 0.0 => self.raw("\"Infinity\""),
            _ => self.raw("\"-Infinity\""),
        }
    }

    /// Adds a number as a string `"0x..."`.
    pub(super) fn hex(&mut self, value: u64) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        self.raw("\"0x");
        let digits = (u64::BITS - value.leading_zeros()).div_ceil(4).max(1);
        let nibbles = (0..digits).rev().map(|digit| (value >> (4 * digit)) & 0xf);
        self.text.extend(nibbles.map(|nibble| DIGITS[nibble as usize]));
        self.raw("\"");
    }

    /// Adds a koid as a string `"#..."`.
    pub(super) fn koid(&mut self, value: u64) {
        self.raw("\"#");
        self.unsigned(value);
        self.raw("\"");
    }

    /// Adds nanoseconds as microseconds with three decimals.
    #[inline]
    pub(super) fn micros(&mut self, nanos: u64) {
        self.unsigned(nanos / 1000);
        let rest = nanos % 1000;
        let digits = [rest / 100, rest / 10 % 10, rest % 10];
        let [a, b, c] = digits.map(|digit| b'0' + digit as u8);
        self.text.extend_from_slice(&[b'.', a, b, c]);
    }

    /// Adds nanoseconds as microseconds without trailing zeros.
    pub(super) fn short_micros(&mut self, nanos: u64) {
        if nanos % 1000 == 0 {
            return self.unsigned(nanos / 1000);
        }
        self.micros(nanos);
        while self.text.last() == Some(&b'0') {
            self.text.pop();
        }
    }

    /// Adds nanoseconds, which may be negative, as microseconds without trailing zeros.
    pub(super) fn signed_micros(&mut self, nanos: i128) {
        self.raw(if nanos < 0 { "-" } else { "" });
        self.short_micros(u64::try_from(nanos.unsigned_abs()).unwrap_or(u64::MAX));
    }

    /// Adds a string that needs no escapes in quotes.
    #[inline]
    pub(super) fn plain(&mut self, value: &str) {
        self.raw("\"");
        self.raw(value);
        self.raw("\"");
    }

    /// Adds bytes as a string in base64, with padding (RFC 4648, section 4).
    pub(super) fn base64(&mut self, bytes: &[u8]) {
        self.plain(&BASE64.encode(bytes));
    }

    /// Starts an object whose keys are added by [`Json::key`]. Such objects cannot be nested.
    #[inline]
    pub(super) fn begin_object(&mut self) {
        self.raw("{");
        self.keys.clear();
    }

    /// Adds a unique key of the current object: `name`, or `name#2` and so on if it is taken.
    #[inline]
    pub(super) fn key(&mut self, name: &str) -> &mut Self {
        if !self.keys.is_empty() {
            self.raw(",");
        }
        let start = self.text.len();
        self.string(name);
        if self.is_taken(start) {
            self.replace_key(start, name);
        }
        self.keys.push(start..self.text.len());
        self.raw(":");
        self
    }

    #[cold]
    fn replace_key(&mut self, start: usize, name: &str) {
        // Terminates: there are more numbers than keys.
        for number in 2.. {
            self.text.truncate(start);
            self.string(&format!("{name}#{number}"));
            if !self.is_taken(start) {
                return;
            }
        }
    }

    /// Returns whether the current object has the key that starts at `start`.
    #[inline]
    fn is_taken(&self, start: usize) -> bool {
        let bytes = |range: Range<usize>| self.text.get(range);
        let new = bytes(start..self.text.len());
        self.keys.iter().any(|key| bytes(key.clone()) == new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Json)) -> String {
        let mut json = Json::default();
        write(&mut json);
        String::from_utf8(json.text).unwrap()
    }

    #[test]
    fn micros_are_exact() {
        assert_eq!(text(|json| json.micros(0)), "0.000");
        assert_eq!(text(|json| json.micros(999)), "0.999");
        assert_eq!(text(|json| json.micros(1_234_567_050)), "1234567.050");
        assert_eq!(text(|json| json.micros(u64::MAX)), "18446744073709551.615");
    }

    #[test]
    fn short_micros_have_no_trailing_zeros() {
        assert_eq!(text(|json| json.short_micros(0)), "0");
        assert_eq!(text(|json| json.short_micros(5_000_000)), "5000");
        assert_eq!(text(|json| json.short_micros(1_500)), "1.5");
        assert_eq!(text(|json| json.short_micros(1_005)), "1.005");
    }

    #[test]
    fn hex_has_no_leading_zeros() {
        assert_eq!(text(|json| json.hex(0)), r#""0x0""#);
        assert_eq!(text(|json| json.hex(0x10)), r#""0x10""#);
        assert_eq!(text(|json| json.hex(u64::MAX)), r#""0xffffffffffffffff""#);
    }

    #[test]
    fn integers_that_would_be_rounded_are_strings() {
        assert_eq!(text(|json| json.safe_unsigned((1 << 53) - 1)), "9007199254740991");
        assert_eq!(text(|json| json.safe_unsigned(1 << 53)), r#""9007199254740992""#);
        assert_eq!(text(|json| json.safe_signed(1 - (1 << 53))), "-9007199254740991");
        assert_eq!(text(|json| json.safe_signed(i64::MIN)), r#""-9223372036854775808""#);
    }

    #[test]
    fn non_finite_doubles_are_strings() {
        assert_eq!(text(|json| json.double(-0.5)), "-0.5");
        assert_eq!(text(|json| json.double(f64::NAN)), r#""NaN""#);
        assert_eq!(text(|json| json.double(f64::INFINITY)), r#""Infinity""#);
        assert_eq!(text(|json| json.double(f64::NEG_INFINITY)), r#""-Infinity""#);
    }

    #[test]
    fn base64_has_padding() {
        assert_eq!(text(|json| json.base64(b"foob\xff")), "\"Zm9vYv8=\"");
    }

    #[test]
    fn repeated_keys_are_numbered() {
        let keys = text(|json| {
            for key in ["a", "a#2", "a", "b", "a"] {
                json.key(key);
            }
        });
        assert_eq!(keys, r##""a":,"a#2":,"a#3":,"b":,"a#4":"##);
    }

    #[test]
    fn small_texts_are_buffered() {
        let mut json = Json::default();
        let mut output = Vec::new();
        json.string("x");
        json.write_full_pieces(&mut output).unwrap();
        assert!(output.is_empty());
        json.string(&"y".repeat(PIECE_BYTES));
        json.write_full_pieces(&mut output).unwrap();
        assert_eq!(output.len(), 3 + PIECE_BYTES + 2);
        assert!(json.text.is_empty());
    }
}
