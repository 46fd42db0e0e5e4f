//! Documents with negative times.

use std::io::{self, Read};

use memchr::memchr_iter;

use super::event::Event;
use super::field::Field;
use super::reader::{Item, Limits, Reader};
use crate::json_error::JsonError;

/// The size of a read, in bytes.
const BLOCK_BYTES: usize = 256 << 10;

/// The number of bytes before a minus sign that are searched for the key `ts`.
const MAX_BLANK_BYTES: usize = 64;

/// Returns the nanoseconds that must be added to the times of a document so that none is negative.
/// `open` opens the document from its start. It is called twice only if the document may have
/// negative times.
///
/// # Errors
///
/// Reading failed, or the document is malformed.
pub fn shift<R: Read>(
    limits: Limits,
    mut open: impl FnMut() -> io::Result<R>,
) -> Result<u64, JsonError> {
    if !may_be_negative(open()?)? {
        return Ok(0);
    }
    let mut reader = Reader::with_limits(open()?, limits);
    let mut earliest = 0;
    while let Some(item) = reader.next()? {
        if let Item::Event(event) = item {
            earliest = earliest.min(nanos(&event).unwrap_or(0));
        }
    }
    Ok(u64::try_from(-earliest).unwrap_or(u64::MAX))
}

/// Returns the time of an event whose record has one.
fn nanos(event: &Event<'_>) -> Option<i128> {
    let value = event.get(Field::Timestamp).filter(|_| event.phase() != Some('M'))?;
    Event::signed_nanos(value).map(|(nanos, _)| nanos)
}

/// Returns whether a member `ts` may be negative. It searches bytes instead of parsing, for speed.
fn may_be_negative(mut input: impl Read) -> io::Result<bool> {
    let mut block = vec![0; BLOCK_BYTES];
    let mut kept = 0;
    loop {
        let read = match input.read(block.get_mut(kept..).unwrap_or_default()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        let text = block.get(..kept + read).unwrap_or_default();
        let new = text.get(kept..).unwrap_or_default();
        let mut signs = memchr_iter(b'-', new);
        if signs.any(|at| follows_key(text.get(..kept + at).unwrap_or_default())) {
            return Ok(true);
        }
        if read == 0 {
            return Ok(false);
        }
        // Keep the text before a sign in the next block.
        let start = text.len().saturating_sub(MAX_BLANK_BYTES);
        kept = text.len() - start;
        block.copy_within(start..start + kept, 0);
    }
}

/// Returns whether a text may end with the key `ts`, a colon and a quote.
fn follows_key(text: &[u8]) -> bool {
    let near = text.get(text.len().saturating_sub(MAX_BLANK_BYTES)..).unwrap_or_default();
    let value = near.trim_ascii_end();
    let value = value.strip_suffix(b"\"").unwrap_or(value).trim_ascii_end();
    let Some(key) = value.strip_suffix(b":") else {
        return value.is_empty() && near.len() == MAX_BLANK_BYTES;
    };
    let key = key.trim_ascii_end();
    // A key with escapes may be `ts`.
    key.ends_with(b"ts\"") || key.contains(&b'\\') || key.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> u64 {
        shift(Limits::default(), || Ok(json.as_bytes())).unwrap()
    }

    #[test]
    fn the_earliest_time_becomes_0() {
        assert_eq!(of(r#"[{"ph":"i","ts":5}]"#), 0);
        assert_eq!(of(r#"[{"ph":"i","ts":-0}]"#), 0);
        assert_eq!(of(r#"[{"ph":"i","ts" : "-1.5"},{"ph":"i","\u0074s": -2e-3}]"#), 1500);
        assert_eq!(of(r#"[{"ph":"i","ts":-0.0001}]"#), 1);
        assert_eq!(of(r#"[{"ph":"M","ts":-5},{"ph":"i","args":{"ts":-7}}]"#), 0);
        let blanks = " ".repeat(BLOCK_BYTES);
        assert_eq!(of(&format!(r#"[{{"ph":"i","ts":{blanks}-3}}]"#)), 3000);
        let before = " ".repeat(BLOCK_BYTES - 18);
        for at in 0..20 {
            assert_eq!(of(&format!(r#"[{before}{}{{"ts":-3}}]"#, " ".repeat(at))), 3000, "{at}");
        }
    }
}
