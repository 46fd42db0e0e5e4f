//! The places of an event's members in its text.

use super::field::Field;
use super::scan::{Found, Scanner, Span, Stop};
use crate::json_error::Problem;

/// A key with its value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) key: Span,
    pub(super) is_key_escaped: bool,
    pub(super) value: Found,
}

/// The places of an event's members. It is reused for the next event.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// By [`Field`].
    pub(super) fields: [Option<Found>; Field::COUNT],
    /// The members of `args`, if it is an object.
    pub(super) arguments: Vec<Entry>,
    /// The other members.
    pub(super) others: Vec<Entry>,
    /// Whether a field is repeated.
    pub(super) is_repeated: bool,
}

impl Parsed {
    /// Parses an event, from its opening bracket. Spans are relative to the start of the scanner's
    /// text.
    pub(super) fn parse(&mut self, scanner: &mut Scanner<'_>, text: &[u8]) -> Result<(), Stop> {
        self.fields = Default::default();
        self.arguments.clear();
        self.others.clear();
        self.is_repeated = false;
        scanner.expect(b'{', Problem::Event)?;
        members(scanner, |scanner| self.member(scanner, text))
    }

    #[inline]
    fn member(&mut self, scanner: &mut Scanner<'_>, text: &[u8]) -> Result<(), Stop> {
        let (key, is_key_escaped) = scanner.key()?;
        let name = text.get(key.start as usize..key.end as usize).unwrap_or_default();
        let Some(field) = Field::of_key(name) else {
            let value = scanner.value()?;
            self.others.push(Entry { key, is_key_escaped, value });
            return Ok(());
        };
        let found = match field {
            Field::Args => self.args(scanner)?,
            _ => scanner.value()?,
        };
        self.is_repeated |= self.fields[field as usize].replace(found).is_some();
        Ok(())
    }

    #[inline]
    fn args(&mut self, scanner: &mut Scanner<'_>) -> Result<Found, Stop> {
        self.arguments.clear();
        if scanner.peek()? != b'{' {
            return scanner.value();
        }
        let start = scanner.at;
        scanner.at += 1;
        members(scanner, |scanner| {
            let (key, is_key_escaped) = scanner.key()?;
            let value = scanner.value()?;
            self.arguments.push(Entry { key, is_key_escaped, value });
            Ok(())
        })?;
        Ok(Found::Nested(Span { start: start as u32, end: scanner.at as u32 }))
    }
}

/// Skips the members of an object, after its opening bracket. `member` skips one.
#[inline]
fn members<'a>(
    scanner: &mut Scanner<'a>,
    mut member: impl FnMut(&mut Scanner<'a>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    if scanner.peek()? == b'}' {
        scanner.at += 1;
        return Ok(());
    }
    loop {
        member(scanner)?;
        match scanner.peek()? {
            b',' => scanner.at += 1,
            b'}' => break,
            _ => return scanner.malformed(Problem::CommaOrBrace),
        }
    }
    scanner.at += 1;
    Ok(())
}
