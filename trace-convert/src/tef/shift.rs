//! Documents with times before 0.

use std::io::{self, Read};

use super::error::JsonError;
use super::event::{Event, Phase};
use super::reader::{Item, Limits, Reader};

/// How much is looked at at once, in bytes.
const BLOCK_BYTES: usize = 256 << 10;

/// What stands before a negative number is in so many bytes, or is looked at closely.
const MAX_BLANK_BYTES: usize = 64;

/// Returns by how many nanoseconds the times of a document have to be later so that none is
/// negative. `open` opens it from its start; it is opened again only if it seems to have negative
/// times.
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

/// Returns the time of an event that has one in FXT.
fn nanos(event: &Event<'_>) -> Option<i128> {
    let value = event.timestamp().filter(|_| event.phase() != Phase::Metadata)?;
    Event::signed_nanos(value).map(|(nanos, _)| nanos)
}

/// Tells whether a member `ts` may be negative, at the speed of a look at each byte.
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
        let mut signs = new.iter().enumerate().filter(|(_, byte)| **byte == b'-');
        if signs.any(|(at, _)| is_behind_key(text.get(..kept + at).unwrap_or_default())) {
            return Ok(true);
        }
        if read == 0 {
            return Ok(false);
        }
        // What stands before a sign that comes next.
        let start = text.len().saturating_sub(MAX_BLANK_BYTES);
        kept = text.len() - start;
        block.copy_within(start..start + kept, 0);
    }
}

/// Tells whether a text may end with the key `ts`, its colon and a quote.
fn is_behind_key(text: &[u8]) -> bool {
    let near = text.get(text.len().saturating_sub(MAX_BLANK_BYTES)..).unwrap_or_default();
    let value = near.trim_ascii_end();
    let value = value.strip_suffix(b"\"").unwrap_or(value).trim_ascii_end();
    let Some(key) = value.strip_suffix(b":") else {
        return value.is_empty() && near.len() == MAX_BLANK_BYTES;
    };
    let key = key.trim_ascii_end();
    // A key with escapes may be it.
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
