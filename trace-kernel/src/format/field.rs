//! The layout of a field, and its value in an event.

use std::ffi::CStr;

use super::declaration::Declaration;
use super::error::FormatFault;
use crate::byte_order::ByteOrder;

/// A field of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: Box<str>,
    /// Its type in C, without the brackets of an array.
    pub type_name: Box<str>,
    /// Where it begins, in bytes from the start of the payload.
    pub offset: usize,
    /// How long it is, in bytes; 0 if it takes the rest of the payload.
    pub size: usize,
    /// Where its data is.
    pub place: Place,
    /// What its data is.
    pub shape: Shape,
}

/// Where the data of a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the field.
    Inline,
    /// Elsewhere in the payload: the field has the offset in its low 16 bits and the length above.
    DataLocation,
    /// The same, with an offset from the end of the field.
    RelativeLocation,
}

/// What the data of a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A number that may be negative.
    Signed,
    /// A number that is not negative.
    Unsigned,
    /// An address.
    Pointer,
    /// Text, up to the first zero.
    Text,
    /// An array of numbers, or a structure.
    Bytes,
}

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A number that may be negative.
    Signed(i64),
    /// A number that is not negative.
    Unsigned(u64),
    /// An address.
    Pointer(u64),
    /// Text. It ends before the first zero, and before the first byte that is not UTF-8: the
    /// kernel cuts names at a number of bytes.
    Text(&'a str),
    /// Any other data.
    Bytes(&'a [u8]),
}

impl Field {
    pub(super) fn new(declaration: &Declaration<'_>) -> Result<Self, FormatFault> {
        let (place, text) = place(declaration.text);
        let (type_name, name, is_array) = split(text, place).ok_or(FormatFault::Field)?;
        let is_array = is_array || place != Place::Inline;
        let shape = match (element(type_name), is_array) {
            ("char", true) => Shape::Text,
            (_, true) => Shape::Bytes,
            _ if !matches!(declaration.size, 1 | 2 | 4 | 8) => Shape::Bytes,
            _ if type_name.ends_with('*') => Shape::Pointer,
            _ if declaration.is_signed => Shape::Signed,
            _ => Shape::Unsigned,
        };
        let (offset, size) = (declaration.offset, declaration.size);
        Ok(Self { name: name.into(), type_name: type_name.into(), offset, size, place, shape })
    }

    /// Returns the field's value in a payload, or `None` if the payload is too short for it.
    #[inline]
    #[must_use]
    pub fn value<'a>(&self, payload: &'a [u8], order: ByteOrder) -> Option<Value<'a>> {
        let bytes = self.bytes(payload, order)?;
        Some(match self.shape {
            Shape::Signed => Value::Signed(signed(order.number(bytes)?, bytes.len())),
            Shape::Unsigned => Value::Unsigned(order.number(bytes)?),
            Shape::Pointer => Value::Pointer(order.number(bytes)?),
            Shape::Text => Value::Text(text(bytes)),
            Shape::Bytes => Value::Bytes(bytes),
        })
    }

    /// Returns the field's number in a payload, or `None` if it is none, or the payload is too
    /// short for it.
    #[inline]
    #[must_use]
    pub fn integer(&self, payload: &[u8], order: ByteOrder) -> Option<i64> {
        let is_signed = match self.shape {
            Shape::Signed => true,
            Shape::Unsigned | Shape::Pointer => false,
            Shape::Text | Shape::Bytes => return None,
        };
        let (number, size) = match (self.place, self.size) {
            // Most numbers are these.
            (Place::Inline, 4) => {
                (order.four(payload.get(self.offset..)?.first_chunk()?).into(), 4)
            }
            (Place::Inline, 8) => (order.eight(payload.get(self.offset..)?.first_chunk()?), 8),
            _ => {
                let bytes = self.bytes(payload, order)?;
                (order.number(bytes)?, bytes.len())
            }
        };
        Some(if is_signed { signed(number, size) } else { number as i64 })
    }

    /// Returns the field's data in a payload, or `None` if the payload is too short for it.
    #[inline]
    #[must_use]
    pub fn bytes<'a>(&self, payload: &'a [u8], order: ByteOrder) -> Option<&'a [u8]> {
        let field = payload.get(self.offset..)?;
        if self.size == 0 {
            return Some(field);
        }
        let field = field.get(..self.size)?;
        match self.place {
            Place::Inline => Some(field),
            Place::DataLocation => Self::located(payload, field, 0, order),
            Place::RelativeLocation => {
                Self::located(payload, field, self.offset + self.size, order)
            }
        }
    }

    /// Returns the data in a payload whose offset from `base` and length the field has.
    fn located<'a>(
        payload: &'a [u8],
        field: &[u8],
        base: usize,
        order: ByteOrder,
    ) -> Option<&'a [u8]> {
        let location = order.number(field)? as usize;
        payload.get(base + (location & 0xffff)..)?.get(..location >> 16 & 0xffff)
    }
}

/// Returns where a field's data is, and its declaration without the mark of that.
fn place(text: &str) -> (Place, &str) {
    let marks = [("__data_loc ", Place::DataLocation), ("__rel_loc ", Place::RelativeLocation)];
    let found = marks.iter().find_map(|(mark, place)| Some((*place, text.strip_prefix(mark)?)));
    found.unwrap_or((Place::Inline, text))
}

/// Returns type and name, and whether there are brackets: those of an inline array are behind its
/// name, `char comm[16]`, those of other data behind the type, `char[] name`.
fn split(text: &str, place: Place) -> Option<(&str, &str, bool)> {
    let (text, is_array) = match (place, text.split_once('[')) {
        (Place::Inline, Some((text, _))) => (text, true),
        _ => (text, false),
    };
    let text = text.trim_end();
    let (_, name) = text.rsplit_once([' ', '\t'])?;
    let name = name.trim_start_matches('*');
    let type_name = text.strip_suffix(name)?.split('[').next().unwrap_or_default().trim();
    let is_named = !name.is_empty() && !type_name.is_empty();
    is_named.then_some((type_name, name, is_array))
}

/// Returns a type without its qualifier.
fn element(type_name: &str) -> &str {
    type_name.strip_prefix("const ").unwrap_or(type_name).trim()
}

/// Extends the sign of a number of `size` bytes.
fn signed(number: u64, size: usize) -> i64 {
    let unused = 64 - 8 * size as u32;
    ((number << unused) as i64) >> unused
}

/// Returns the text before the first zero and the first byte that is not UTF-8.
pub(crate) fn text(bytes: &[u8]) -> &str {
    let bytes = CStr::from_bytes_until_nul(bytes).map_or(bytes, CStr::to_bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(valid).unwrap_or_default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(text: &str, offset: usize, size: usize, is_signed: bool) -> Field {
        Field::new(&Declaration { text, offset, size, is_signed }).unwrap()
    }

    #[test]
    fn declarations() {
        let cases = [
            ("pid_t pid", 4, true, "pid_t", "pid", Place::Inline, Shape::Signed),
            ("unsigned int vec", 4, false, "unsigned int", "vec", Place::Inline, Shape::Unsigned),
            ("const char * buf", 8, false, "const char *", "buf", Place::Inline, Shape::Pointer),
            ("void *ip", 8, false, "void *", "ip", Place::Inline, Shape::Pointer),
            ("char comm[16]", 16, false, "char", "comm", Place::Inline, Shape::Text),
            ("char comm[8 + 8]", 16, false, "char", "comm", Place::Inline, Shape::Text),
            ("char buf[]", 0, false, "char", "buf", Place::Inline, Shape::Text),
            ("u8 mac[6]", 6, false, "u8", "mac", Place::Inline, Shape::Bytes),
            ("struct uuid id", 16, false, "struct uuid", "id", Place::Inline, Shape::Bytes),
            ("__data_loc char[] n", 4, false, "char", "n", Place::DataLocation, Shape::Text),
            (
                "__rel_loc const char[] n",
                4,
                true,
                "const char",
                "n",
                Place::RelativeLocation,
                Shape::Text,
            ),
            ("__data_loc u32[] n", 4, false, "u32", "n", Place::DataLocation, Shape::Bytes),
        ];
        for (text, size, is_signed, type_name, name, place, shape) in cases {
            let expected = Field {
                name: name.into(),
                type_name: type_name.into(),
                offset: 8,
                size,
                place,
                shape,
            };
            assert_eq!(field(text, 8, size, is_signed), expected, "{text}");
        }
        for text in ["", "x", "[3]", "int [3]", " x"] {
            let declaration = Declaration { text, offset: 0, size: 4, is_signed: false };
            assert_eq!(Field::new(&declaration), Err(FormatFault::Field), "{text}");
        }
    }

    #[test]
    fn values() {
        let little = ByteOrder::Little;
        let payload = b"\xfe\xff\xff\xffab\0cde\0\0";
        let value = |text, offset, size| field(text, offset, size, true).value(payload, little);
        assert_eq!(value("int x", 0, 4), Some(Value::Signed(-2)));
        assert_eq!(value("char x", 0, 1), Some(Value::Signed(-2)));
        assert_eq!(value("void * x", 3, 1), Some(Value::Pointer(255)));
        assert_eq!(value("char x[6]", 4, 6), Some(Value::Text("ab")));
        assert_eq!(value("char x[]", 7, 0), Some(Value::Text("cde")));
        assert_eq!(value("u8 x[2]", 4, 2), Some(Value::Bytes(b"ab")));
        assert_eq!(value("int x", 9, 4), None);
        assert_eq!(value("int x", usize::MAX, 4), None);
        let integer = |text, size| field(text, 0, size, true).integer(payload, little);
        assert_eq!((integer("int x", 4), integer("void * x", 1)), (Some(-2), Some(254)));
        assert_eq!((integer("char x[4]", 4), integer("u8 x[4]", 4)), (None, None));
        let unsigned = field("unsigned x", 0, 4, false);
        assert_eq!(unsigned.value(payload, ByteOrder::Big), Some(Value::Unsigned(0xfeff_ffff)));
    }

    #[test]
    fn located_data() {
        let located = |text, payload| field(text, 1, 4, false).value(payload, ByteOrder::Little);
        // Two bytes at offset 6 of the payload, or 6 bytes behind the field.
        let payload: &[u8; 13] = b"-\x06\0\x02\0-ab---cd";
        assert_eq!(located("__data_loc char[] x", payload), Some(Value::Text("ab")));
        assert_eq!(located("__rel_loc u8[] x", payload), Some(Value::Bytes(b"cd")));
        assert_eq!(located("__rel_loc u8[] x", &payload[..12]), None);
        assert_eq!(located("__data_loc u8[] x", b"-\xff\xff\xff\xff"), None);
    }

    #[test]
    fn text_that_is_cut_within_a_character() {
        assert_eq!(text("größe".as_bytes()), "größe");
        assert_eq!(text(b"gr\xc3"), "gr");
        assert_eq!(text(b"a\xffb"), "a");
        assert_eq!(text(b"\0a"), "");
    }
}
