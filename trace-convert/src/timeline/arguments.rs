//! The encoded arguments of all events.
//!
//! The arguments of an event are a length in bytes, and for each argument its name (a string's
//! number), a byte for its type, and its value: a number, a string's number, 8 bytes of a double,
//! or nothing.

use std::fmt::Write;

use prost::encoding::{decode_varint, encode_varint};
use trace_analyze::catalog::Catalog;
use trace_format::{Arguments, Item, Value};

use super::visible::visible;

const NULL: u8 = 0;
const SIGNED: u8 = 1;
const UNSIGNED: u8 = 2;
const DOUBLE: u8 = 3;
const TEXT: u8 = 4;
const POINTER: u8 = 5;
const KOID: u8 = 6;
const TRUE: u8 = 7;
const FALSE: u8 = 8;
const BLOB: u8 = 9;

/// Adds the arguments of a record; returns their place, or 0 if there are none or the memory
/// exceeds 4 GiB.
pub(super) fn add<'a>(
    all: &mut Vec<u8>,
    catalog: &mut Catalog,
    item: &Item<'a>,
    arguments: &Arguments<'a>,
) -> u32 {
    let mut block = Vec::new();
    for argument in arguments {
        encode_varint(catalog.text(item, argument.name).into(), &mut block);
        value(&mut block, catalog, item, argument.value);
    }
    add_block(all, &block)
}

/// Adds an argument with a number.
pub(super) fn add_number(all: &mut Vec<u8>, name: u32, number: u64, is_koid: bool) -> u32 {
    let mut block = Vec::new();
    encode_varint(name.into(), &mut block);
    block.push(if is_koid { KOID } else { UNSIGNED });
    encode_varint(number, &mut block);
    add_block(all, &block)
}

/// Concatenates the arguments at two places; returns the new place.
pub(super) fn join(all: &mut Vec<u8>, first: u32, second: u32) -> u32 {
    if first == 0 || second == 0 {
        return first | second;
    }
    let both = [block_at(all, first), block_at(all, second)].concat();
    add_block(all, &both)
}

fn add_block(all: &mut Vec<u8>, block: &[u8]) -> u32 {
    if all.is_empty() {
        // Place 0 means no arguments.
        all.push(0);
    }
    let Ok(place) = u32::try_from(all.len()) else { return 0 };
    if block.is_empty() {
        return 0;
    }
    encode_varint(block.len() as u64, all);
    all.extend_from_slice(block);
    place
}

fn block_at(all: &[u8], place: u32) -> &[u8] {
    let mut rest = all.get(place as usize..).unwrap_or_default();
    let length = decode_varint(&mut rest).unwrap_or(0) as usize;
    rest.get(..length).unwrap_or_default()
}

fn value<'a>(block: &mut Vec<u8>, catalog: &mut Catalog, item: &Item<'a>, value: Value<'a>) {
    let (kind, number) = match value {
        Value::Null => return block.push(NULL),
        Value::Bool(value) => return block.push(if value { TRUE } else { FALSE }),
        Value::Double(value) => {
            block.push(DOUBLE);
            return block.extend_from_slice(&value.to_le_bytes());
        }
        Value::Int32(value) => (SIGNED, zigzag(value.into())),
        Value::Int64(value) => (SIGNED, zigzag(value)),
        Value::Uint32(value) => (UNSIGNED, value.into()),
        Value::Uint64(value) => (UNSIGNED, value),
        Value::String(value) => (TEXT, catalog.text(item, value).into()),
        Value::Pointer(value) => (POINTER, value),
        Value::Koid(value) => (KOID, value),
        Value::Blob(value) => (BLOB, value.len() as u64),
    };
    block.push(kind);
    encode_varint(number, block);
}

/// Returns the first argument at a place with this name that is an integer and not negative.
/// Archives made of JSON have integers beyond 2^53 as strings.
pub(super) fn unsigned(all: &[u8], place: u32, name: u32, catalog: &Catalog) -> Option<u64> {
    let mut rest = if place == 0 { &[][..] } else { block_at(all, place) };
    loop {
        let is_named = decode_varint(&mut rest).ok()? == u64::from(name);
        let (kind, number) = value_at(&mut rest)?;
        let value = match kind {
            UNSIGNED => Some(number),
            SIGNED => unzigzag(number).try_into().ok(),
            TEXT => catalog.string(number as u32).parse().ok(),
            _ => None,
        };
        if is_named && value.is_some() {
            return value;
        }
    }
}

/// Returns the arguments at a place as lines of text.
pub(super) fn text(all: &[u8], place: u32, catalog: &Catalog) -> String {
    let mut rest = if place == 0 { &[][..] } else { block_at(all, place) };
    let mut text = String::new();
    while let Ok(name) = decode_varint(&mut rest) {
        let name = visible(catalog.string(name as u32));
        let Some(value) = value_text(&mut rest, catalog) else { break };
        let _ = write!(text, "\n{name}: {value}");
    }
    text
}

/// Returns the type of a value, and its number or the bits of a double.
fn value_at(rest: &mut &[u8]) -> Option<(u8, u64)> {
    let (kind, after) = rest.split_first()?;
    *rest = after;
    let number = match *kind {
        NULL | TRUE | FALSE => 0,
        DOUBLE => {
            let (bytes, after) = rest.split_first_chunk::<8>()?;
            *rest = after;
            u64::from_le_bytes(*bytes)
        }
        _ => decode_varint(rest).ok()?,
    };
    Some((*kind, number))
}

fn value_text(rest: &mut &[u8], catalog: &Catalog) -> Option<String> {
    let (kind, number) = value_at(rest)?;
    Some(match kind {
        DOUBLE => format!("{:?}", f64::from_bits(number)),
        NULL => "null".into(),
        TRUE => "true".into(),
        FALSE => "false".into(),
        SIGNED => unzigzag(number).to_string(),
        UNSIGNED => number.to_string(),
        TEXT => visible(catalog.string(number as u32)).into_owned(),
        POINTER => format!("{number:#x}"),
        KOID => format!("#{number}"),
        _ => format!("{number} bytes"),
    })
}

/// Maps small signed numbers to small unsigned ones.
pub(super) fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

/// Reverses [`zigzag`].
pub(super) fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}
