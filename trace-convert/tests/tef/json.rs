//! JSON values that are equal if and only if they have the same meaning.
//!
//! A separate parser, so that it does not share defects of the crate's scanner. Numbers of any size
//! are compared by their digits, and strings by their UTF-16 units, including lone surrogates.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;

/// A JSON value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    /// Sign, digits without zeros at either end, and the power of ten.
    Number(bool, String, i64),
    String(Vec<u16>),
    Array(Vec<Json>),
    /// Of a repeated key the last value.
    Object(BTreeMap<Vec<u16>, Json>),
}

/// Parses a text; panics if it is not JSON.
pub(crate) fn parse(text: &str) -> Json {
    let mut parser = Parser(text.chars().peekable());
    let value = parser.value();
    parser.space();
    assert_eq!(parser.0.next(), None, "nothing follows the value");
    value
}

/// Returns the events of a document.
pub(crate) fn events(document: &Json) -> &[Json] {
    match document {
        Json::Array(events) => events,
        Json::Object(members) => events(&members[&units("traceEvents")]),
        other => panic!("no document: {other:?}"),
    }
}

fn units(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

struct Parser<'a>(Peekable<Chars<'a>>);

impl Parser<'_> {
    fn space(&mut self) {
        while self.0.next_if(|next| " \t\r\n".contains(*next)).is_some() {}
    }

    fn expect(&mut self, expected: char) {
        self.space();
        assert_eq!(self.0.next(), Some(expected));
    }

    /// Skips `character` if it is next.
    fn take(&mut self, character: char) -> bool {
        self.space();
        self.0.next_if_eq(&character).is_some()
    }

    fn value(&mut self) -> Json {
        self.space();
        match *self.0.peek().expect("a value") {
            '{' => self.object(),
            '[' => self.array(),
            '"' => Json::String(self.string()),
            'a'..='z' => self.word(),
            _ => self.number(),
        }
    }

    fn object(&mut self) -> Json {
        let mut members = BTreeMap::new();
        self.expect('{');
        if !self.take('}') {
            loop {
                self.space();
                let key = self.string();
                self.expect(':');
                members.insert(key, self.value());
                if !self.take(',') {
                    break;
                }
            }
            self.expect('}');
        }
        Json::Object(members)
    }

    fn array(&mut self) -> Json {
        let mut values = Vec::new();
        self.expect('[');
        if !self.take(']') {
            loop {
                values.push(self.value());
                if !self.take(',') {
                    break;
                }
            }
            self.expect(']');
        }
        Json::Array(values)
    }

    fn word(&mut self) -> Json {
        let mut word = String::new();
        while let Some(letter) = self.0.next_if(char::is_ascii_lowercase) {
            word.push(letter);
        }
        match &*word {
            "null" => Json::Null,
            "true" => Json::Bool(true),
            "false" => Json::Bool(false),
            _ => panic!("no word of JSON: {word}"),
        }
    }

    fn number(&mut self) -> Json {
        let mut text = String::new();
        while let Some(digit) = self.0.next_if(|next| "+-.eE0123456789".contains(*next)) {
            text.push(digit);
        }
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
        let exponent: i64 = exponent.parse().expect("an exponent");
        let unsigned = mantissa.trim_start_matches('-');
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        assert!(!whole.is_empty() && whole.chars().all(|digit| digit.is_ascii_digit()), "{text}");
        let digits = whole.to_owned() + fraction;
        let kept = digits.trim_end_matches('0');
        let power = exponent - fraction.len() as i64 + (digits.len() - kept.len()) as i64;
        let kept = kept.trim_start_matches('0').to_owned();
        let power = if kept.is_empty() { 0 } else { power };
        Json::Number(mantissa.starts_with('-'), kept, power)
    }

    fn string(&mut self) -> Vec<u16> {
        let mut units = Vec::new();
        assert_eq!(self.0.next(), Some('"'));
        loop {
            match self.0.next().expect("the end of the string") {
                '"' => return units,
                '\\' => units.push(self.escape()),
                plain => {
                    assert!(plain >= ' ', "a control character is not escaped");
                    units.extend(plain.encode_utf16(&mut [0; 2]).iter());
                }
            }
        }
    }

    fn escape(&mut self) -> u16 {
        let plain = match self.0.next().expect("an escape") {
            'u' => {
                let digits: String = (0..4).filter_map(|_| self.0.next()).collect();
                return u16::from_str_radix(&digits, 16).expect("four digits");
            }
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            other => other,
        };
        plain as u16
    }
}
