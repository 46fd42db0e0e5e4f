//! The places of an event's members in its text.

use super::error::Problem;
use super::scan::{Found, Scanner, Span, Stop};

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
    pub(super) name: Option<Found>,
    pub(super) category: Option<Found>,
    pub(super) phase: Option<Found>,
    pub(super) timestamp: Option<Found>,
    pub(super) duration: Option<Found>,
    pub(super) process: Option<Found>,
    pub(super) thread: Option<Found>,
    pub(super) id: Option<Found>,
    pub(super) instant_scope: Option<Found>,
    pub(super) args: Option<Found>,
    /// The members of `args`, if it is an object.
    pub(super) arguments: Vec<Entry>,
    /// The other members.
    pub(super) others: Vec<Entry>,
    /// Whether a member with a field here is repeated.
    pub(super) is_repeated: bool,
}

impl Parsed {
    /// Parses an event, from its opening bracket. Spans are relative to the start of the scanner's
    /// text.
    pub(super) fn parse(&mut self, scanner: &mut Scanner<'_>, text: &[u8]) -> Result<(), Stop> {
        self.clear();
        scanner.expect(b'{', Problem::Event)?;
        if scanner.peek()? == b'}' {
            scanner.at += 1;
            return Ok(());
        }
        loop {
            self.member(scanner, text)?;
            match scanner.peek()? {
                b',' => scanner.at += 1,
                b'}' => break,
                _ => return scanner.malformed(Problem::CommaOrBrace),
            }
        }
        scanner.at += 1;
        Ok(())
    }

    fn clear(&mut self) {
        let (mut arguments, mut others) =
            (std::mem::take(&mut self.arguments), std::mem::take(&mut self.others));
        arguments.clear();
        others.clear();
        *self = Self { arguments, others, ..Self::default() };
    }

    #[inline]
    fn member(&mut self, scanner: &mut Scanner<'_>, text: &[u8]) -> Result<(), Stop> {
        let (key, is_key_escaped) = scanner.key()?;
        let name = text.get(key.start as usize..key.end as usize).unwrap_or_default();
        let place = match name {
            b"name" => &mut self.name,
            b"cat" => &mut self.category,
            b"ph" => &mut self.phase,
            b"ts" => &mut self.timestamp,
            b"dur" => &mut self.duration,
            b"pid" => &mut self.process,
            b"tid" => &mut self.thread,
            b"id" => &mut self.id,
            b"s" => &mut self.instant_scope,
            b"args" => return self.args(scanner),
            _ => {
                let value = scanner.value()?;
                self.others.push(Entry { key, is_key_escaped, value });
                return Ok(());
            }
        };
        self.is_repeated |= place.is_some();
        *place = Some(scanner.value()?);
        Ok(())
    }

    #[inline]
    fn args(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Stop> {
        self.is_repeated |= self.args.is_some();
        self.arguments.clear();
        if scanner.peek()? != b'{' {
            self.args = Some(scanner.value()?);
            return Ok(());
        }
        let start = scanner.at;
        scanner.at += 1;
        if scanner.peek()? == b'}' {
            scanner.at += 1;
        } else {
            self.arguments(scanner)?;
        }
        self.args = Some(Found::Nested(Span { start: start as u32, end: scanner.at as u32 }));
        Ok(())
    }

    fn arguments(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Stop> {
        loop {
            let (key, is_key_escaped) = scanner.key()?;
            let value = scanner.value()?;
            self.arguments.push(Entry { key, is_key_escaped, value });
            match scanner.peek()? {
                b',' => scanner.at += 1,
                b'}' => break,
                _ => return scanner.malformed(Problem::CommaOrBrace),
            }
        }
        scanner.at += 1;
        Ok(())
    }
}
