//! Decoding of arguments.

use super::cursor::Cursor;
use super::{Argument, Text, UnknownArgument, Value};
use crate::decode_error::DecodeError;
use crate::layout::{argument, ArgumentType, StringRef};

/// A cursor over encoded arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArgumentCursor<'a> {
    cursor: Cursor<'a>,
    count: u64,
}

impl<'a> ArgumentCursor<'a> {
    /// Returns whether no arguments are left.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the next argument of a known type.
    pub(crate) fn next_known(&mut self) -> Option<Argument<'a>> {
        while self.count > 0 {
            self.count -= 1;
            let (header, mut content) = encoded(&mut self.cursor).ok()?;
            if let Some(argument_type) = ArgumentType::from_bits(argument::Type::get(header)) {
                return argument(argument_type, header, &mut content).ok();
            }
        }
        None
    }

    /// Returns the next argument of an unknown type.
    pub(crate) fn next_unknown(&mut self) -> Option<UnknownArgument<'a>> {
        while self.count > 0 {
            self.count -= 1;
            let (header, mut content) = encoded(&mut self.cursor).ok()?;
            if ArgumentType::from_bits(argument::Type::get(header)).is_none() {
                let name = content.text(argument::NameRef::get(header), "argument name");
                let (name, payload) = (name.unwrap_or(Text::EMPTY), content.rest());
                return Some(UnknownArgument { header, name, payload });
            }
        }
        None
    }

    /// Calls `visit` with each string index, and returns the number of arguments of unknown types.
    ///
    /// Reads headers only, which takes a fraction of the time of decoding.
    #[inline]
    pub(crate) fn string_indices(mut self, mut visit: impl FnMut(u16)) -> u64 {
        let mut index = |bits| StringRef::from_bits(bits as u16).index().map(&mut visit);
        let mut unknown = 0;
        for _ in 0..self.count {
            let Ok(header) = self.cursor.clone().word("argument header") else { break };
            index(argument::NameRef::get(header));
            match ArgumentType::from_bits(argument::Type::get(header)) {
                Some(ArgumentType::String) => drop(index(argument::ValueRef::get(header))),
                Some(_) => {}
                None => unknown += 1,
            }
            if self.cursor.split(argument::Size::get(header)).is_none() {
                break;
            }
        }
        unknown
    }
}

/// Checks and takes `count` arguments.
#[inline]
pub(crate) fn arguments<'a>(
    cursor: &mut Cursor<'a>,
    count: u64,
) -> Result<ArgumentCursor<'a>, DecodeError> {
    let start = *cursor;
    if count > 0 {
        check(cursor, count)?;
    }
    // Checked arguments need no second check.
    let cursor = start.with_strict(false);
    Ok(ArgumentCursor { cursor, count })
}

/// Takes `count` arguments. Out of line, because most events have none.
#[inline(never)]
fn check(cursor: &mut Cursor<'_>, count: u64) -> Result<(), DecodeError> {
    for _ in 0..count {
        check_argument(cursor)?;
    }
    Ok(())
}

#[inline]
fn check_argument(cursor: &mut Cursor<'_>) -> Result<(), DecodeError> {
    let at = cursor.position();
    let (header, mut content) = encoded(cursor)?;
    match ArgumentType::from_bits(argument::Type::get(header)) {
        Some(argument_type) => drop(argument(argument_type, header, &mut content)?),
        None if cursor.is_strict() => return Err(DecodeError::UnknownType { what: "argument" }),
        None => return Ok(()),
    }
    if cursor.is_strict() && content.words_left() != 0 {
        let words = argument::Size::get(header);
        return Err(DecodeError::ArgumentSize { words, at });
    }
    Ok(())
}

/// Takes one argument, and returns its header and a cursor over the rest of it.
#[inline]
fn encoded<'a>(cursor: &mut Cursor<'a>) -> Result<(u64, Cursor<'a>), DecodeError> {
    let at = cursor.position();
    let mut header_cursor = *cursor;
    let header = header_cursor.word("argument header")?;
    let words = argument::Size::get(header);
    let argument = cursor.split(words).filter(|_| words > 0);
    let mut argument = argument.ok_or(DecodeError::ArgumentSize { words, at })?;
    argument.word("argument header")?;
    Ok((header, argument))
}

/// Takes the name and value of an argument, after its header.
#[inline(always)]
fn argument<'a>(
    argument_type: ArgumentType,
    header: u64,
    cursor: &mut Cursor<'a>,
) -> Result<Argument<'a>, DecodeError> {
    let name = cursor.text(argument::NameRef::get(header), "argument name")?;
    let value = value(argument_type, header, cursor)?;
    Ok(Argument { name, value })
}

#[inline(always)]
fn value<'a>(
    argument_type: ArgumentType,
    header: u64,
    cursor: &mut Cursor<'a>,
) -> Result<Value<'a>, DecodeError> {
    let value32 = argument::Value32::get(header) as u32;
    let mut word = || cursor.word("argument value");
    Ok(match argument_type {
        ArgumentType::Null => Value::Null,
        ArgumentType::Int32 => Value::Int32(value32 as i32),
        ArgumentType::Uint32 => Value::Uint32(value32),
        ArgumentType::Int64 => Value::Int64(word()? as i64),
        ArgumentType::Uint64 => Value::Uint64(word()?),
        ArgumentType::Double => Value::Double(f64::from_bits(word()?)),
        ArgumentType::String => {
            Value::String(cursor.text(argument::ValueRef::get(header), "argument value")?)
        }
        ArgumentType::Pointer => Value::Pointer(word()?),
        ArgumentType::Koid => Value::Koid(word()?),
        ArgumentType::Bool => Value::Bool(argument::Bool::get(header) == 1),
        ArgumentType::Blob => {
            Value::Blob(cursor.stream(argument::BlobLength::get(header), "argument value")?)
        }
    })
}
