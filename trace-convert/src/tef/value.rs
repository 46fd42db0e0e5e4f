//! JSON values as slices of the document.

use std::borrow::Cow;

use trace_format::Value as Fxt;

use super::scan::{self, Found};

/// A value of an event's member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(Number<'a>),
    /// A string.
    String(Text<'a>),
    /// The JSON text of an object or array.
    Nested(&'a str),
}

impl<'a> Value<'a> {
    #[inline]
    pub(super) fn of(text: &'a str, found: Found) -> Self {
        match found {
            Found::Null => Self::Null,
            Found::Bool(value) => Self::Bool(value),
            Found::Number(span) => Self::Number(Number(span.of(text))),
            Found::String(span, is_escaped) => Self::String(Text::new(span.of(text), is_escaped)),
            Found::Nested(span) => Self::Nested(span.of(text)),
        }
    }

    /// Returns the JSON text of the value, of a string without its quotes.
    pub(super) fn written(&self) -> &'a str {
        match self {
            Self::Null => "null",
            Self::Bool(true) => "true",
            Self::Bool(false) => "false",
            Self::Number(number) => number.written(),
            Self::String(text) => text.written(),
            Self::Nested(json) => json,
        }
    }
}

/// A string with its escapes, without its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Text<'a> {
    written: &'a str,
    is_escaped: bool,
}

impl<'a> Text<'a> {
    #[inline]
    pub(super) fn new(written: &'a str, is_escaped: bool) -> Self {
        Self { written, is_escaped }
    }

    /// Returns the string with its escapes.
    #[must_use]
    pub fn written(&self) -> &'a str {
        self.written
    }

    /// Returns the unescaped string. Lone surrogates, which UTF-8 cannot express, become U+FFFD.
    #[must_use]
    pub fn to_str(&self) -> Cow<'a, str> {
        match self.plain() {
            Some(plain) => Cow::Borrowed(plain),
            None => {
                let mut text = String::with_capacity(self.written.len());
                self.unescape(&mut text);
                Cow::Owned(text)
            }
        }
    }

    /// Returns the string if it has no escapes.
    #[inline]
    pub(super) fn plain(&self) -> Option<&'a str> {
        (!self.is_escaped).then_some(self.written)
    }

    /// Appends the unescaped string; returns `false` if it has lone surrogates.
    pub(super) fn unescape(&self, output: &mut String) -> bool {
        let mut is_valid = true;
        let mut rest = self.written;
        while let Some((plain, escape)) = rest.split_once('\\') {
            output.push_str(plain);
            let (character, length) = unescaped(escape);
            is_valid &= character.is_some();
            output.push(character.unwrap_or(char::REPLACEMENT_CHARACTER));
            rest = escape.get(length..).unwrap_or_default();
        }
        output.push_str(rest);
        is_valid
    }
}

/// Returns the character of an escape, which starts after its backslash, and the escape's length.
/// The character is `None` for a lone surrogate.
fn unescaped(escape: &str) -> (Option<char>, usize) {
    let plain = match escape.as_bytes().first() {
        Some(b'u') => return unescaped_unit(escape),
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(other) => char::from(*other),
        None => char::REPLACEMENT_CHARACTER,
    };
    (Some(plain), 1)
}

fn unescaped_unit(escape: &str) -> (Option<char>, usize) {
    let unit = |start: usize| {
        let digits = escape.get(start..start + 4)?;
        u32::from_str_radix(digits, 16).ok()
    };
    let first = unit(1).unwrap_or(0xfffd);
    let has_second = escape.get(5..7) == Some("\\u");
    match (first, has_second.then(|| unit(7)).flatten()) {
        (0xd800..=0xdbff, Some(second @ 0xdc00..=0xdfff)) => {
            (char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)), 11)
        }
        _ => (char::from_u32(first), 5),
    }
}

/// The text of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Number<'a>(&'a str);

/// The number of decimal digits that every double preserves.
const DOUBLE_DIGITS: usize = 15;

impl<'a> Number<'a> {
    /// Parses a number in a string.
    pub(super) fn quoted(text: &'a str) -> Option<Self> {
        let is_number = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        (is_number && scan::is_value(text)).then_some(Self(text.trim_end()))
    }

    /// Returns the text of the number.
    #[must_use]
    pub fn written(&self) -> &'a str {
        self.0
    }

    /// Returns the nearest double.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        self.0.parse().unwrap_or(f64::NAN)
    }

    /// Returns an integer without fraction and exponent, if it fits.
    #[inline]
    #[must_use]
    pub fn to_u64(&self) -> Option<u64> {
        match self.0.len() {
            // 18 digits cannot overflow.
            1..=18 => self.0.bytes().try_fold(0, |value: u64, digit| match digit {
                b'0'..=b'9' => Some(value * 10 + u64::from(digit - b'0')),
                _ => None,
            }),
            _ => self.0.parse().ok(),
        }
    }

    /// Returns microseconds in nanoseconds, rounded down, and whether that is exact; `None` if they
    /// do not fit.
    #[inline]
    #[must_use]
    pub fn to_nanos(&self) -> Option<(u64, bool)> {
        // Numbers are short: a loop is faster than a search.
        let point = self.0.bytes().position(|byte| byte == b'.').unwrap_or(self.0.len());
        let (whole, fraction) = self.0.split_at(point);
        let Some(micros) = Number(whole).to_u64() else {
            return self.to_nanos_slow();
        };
        let mut nanos = micros.checked_mul(1000)?;
        let mut unit = 100;
        let mut is_exact = true;
        for digit in fraction.bytes().skip(1) {
            let digit = match digit {
                b'0'..=b'9' => u64::from(digit - b'0'),
                _ => return self.to_nanos_slow(),
            };
            nanos = nanos.checked_add(digit * unit)?;
            is_exact &= unit > 0 || digit == 0;
            unit /= 10;
        }
        Some((nanos, is_exact))
    }

    /// Like [`Number::to_nanos`], for numbers that may be negative. Negative zero is not exact.
    pub(super) fn to_signed_nanos(self) -> Option<(i128, bool)> {
        let Some(positive) = self.0.strip_prefix('-') else {
            let (nanos, is_exact) = self.to_nanos()?;
            return Some((nanos.into(), is_exact));
        };
        let (nanos, is_exact) = Number(positive).to_nanos()?;
        let nanos = -i128::from(nanos) - i128::from(!is_exact);
        Some((nanos, is_exact && nanos != 0))
    }

    /// Converts numbers that are negative or have an exponent.
    #[cold]
    fn to_nanos_slow(self) -> Option<(u64, bool)> {
        scaled(self.0, 3)
    }

    /// Returns an integer in any notation, if it fits.
    #[inline]
    pub(super) fn to_whole(self) -> Option<u64> {
        self.to_u64()
            .or_else(|| scaled(self.0, 0).filter(|(_, is_exact)| *is_exact).map(|(n, _)| n))
    }

    /// Returns the number in the smallest type that can express it, if FXT can express it exactly.
    #[inline]
    pub(super) fn to_fxt(self) -> Option<Fxt<'static>> {
        if let Some(value) = self.to_u64() {
            return Some(i64::try_from(value).map_or(Fxt::Uint64(value), integer));
        }
        match self.0.parse() {
            // Integers have no negative zero.
            Ok(0) => Some(Fxt::Double(-0.0)),
            Ok(value) => Some(integer(value)),
            Err(_) => self.to_double().map(Fxt::Double),
        }
    }

    /// Returns the double that equals the number, if there is one.
    fn to_double(self) -> Option<f64> {
        let value: f64 = self.0.parse().ok().filter(|value: &f64| value.is_finite())?;
        let digits = self.0.bytes().filter(u8::is_ascii_digit).count();
        // Few digits, including those of the exponent, and not subnormal: the double is exact.
        let is_exact = digits <= DOUBLE_DIGITS && value.abs() >= f64::MIN_POSITIVE
            || decimal(self.0) == decimal(&format!("{value:e}"));
        is_exact.then_some(value)
    }
}

fn integer(value: i64) -> Fxt<'static> {
    match (i32::try_from(value), u32::try_from(value)) {
        (Ok(value), _) => Fxt::Int32(value),
        (_, Ok(value)) => Fxt::Uint32(value),
        _ => Fxt::Int64(value),
    }
}

/// Returns sign, digits and exponent of a number. Numbers are equal if these are equal.
pub(super) fn decimal(number: &str) -> (bool, String, i64) {
    let (number, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    // An exponent that does not fit may be clamped.
    let far = if exponent.starts_with('-') { i64::MIN / 2 } else { i64::MAX / 2 };
    let mut exponent = exponent.parse().unwrap_or(far);
    let unsigned = number.trim_start_matches('-');
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    exponent -= fraction.len() as i64;
    let digits = [whole, fraction].concat();
    let kept = digits.trim_end_matches('0');
    exponent += (digits.len() - kept.len()) as i64;
    let kept = kept.trim_start_matches('0').to_owned();
    if kept.is_empty() {
        exponent = 0;
    }
    (unsigned.len() < number.len(), kept, exponent)
}

/// Returns a number times 10 to the power of `by`, rounded down, and whether that is exact; `None`
/// if it is negative or does not fit.
fn scaled(number: &str, by: i64) -> Option<(u64, bool)> {
    let (is_negative, digits, exponent) = decimal(number);
    let length = digits.len() as i64;
    let places = length.saturating_add(exponent).saturating_add(by);
    if digits.is_empty() {
        return Some((0, !is_negative));
    }
    // 2^64 has 20 digits.
    if is_negative || places > 20 {
        return None;
    }
    let kept = digits.get(..places.clamp(0, length) as usize)?;
    let zeros = 10u64.checked_pow((places - length).max(0) as u32);
    let value = if kept.is_empty() { 0 } else { kept.parse::<u64>().ok()? };
    Some((value.checked_mul(zeros?)?, places >= length))
}

#[cfg(test)]
mod tests;
