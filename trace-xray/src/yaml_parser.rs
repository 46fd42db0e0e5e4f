//! The parts of a YAML document, and its scalars.

use std::fmt;

use saphyr_parser::{BufferedInput, Event, Input, Parser, StrInput};

/// What is wrong with a YAML document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlError {
    /// The line, from 1 on.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for YamlError {}

/// The events of a parser, with the line of the last one.
pub(crate) struct Events<'a, I: Input> {
    parser: Parser<'a, I>,
    line: usize,
}

impl<'a> Events<'a, StrInput<'a>> {
    pub(crate) fn of_text(text: &'a str) -> Self {
        Self { parser: Parser::new_from_str(text), line: 1 }
    }
}

impl<'a, C: Iterator<Item = char> + 'a> Events<'a, BufferedInput<C>> {
    pub(crate) fn of_characters(characters: C) -> Self {
        Self { parser: Parser::new_from_iter(characters), line: 1 }
    }
}

impl<'a, I: Input> Events<'a, I> {
    /// Returns the next event, `None` at the end of the stream.
    pub(crate) fn next(&mut self) -> Result<Option<Event<'a>>, YamlError> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => {
                self.line = span.start.line();
                Ok(Some(event))
            }
            Some(Err(error)) => {
                let (line, message) = (error.marker().line(), error.info().to_owned());
                Err(YamlError { line, message })
            }
            None => Ok(None),
        }
    }

    /// Returns an error at the last event.
    pub(crate) fn error(&self, message: impl Into<String>) -> YamlError {
        YamlError { line: self.line, message: message.into() }
    }

    /// Reads a value of any kind.
    pub(crate) fn skip_value(&mut self) -> Result<(), YamlError> {
        let mut depth = 0_usize;
        loop {
            match self.next()? {
                Some(Event::MappingStart(..) | Event::SequenceStart(..)) => depth += 1,
                Some(Event::MappingEnd | Event::SequenceEnd) if depth > 0 => depth -= 1,
                Some(Event::Scalar(..) | Event::Alias(_)) => {}
                _ => return Err(self.error("expected a value")),
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }
}

/// Returns a number in decimal or, with `0x`, in hexadecimal digits.
pub(crate) fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Words that are not strings.
const KEYWORDS: [&str; 3] = ["true", "false", "null"];

/// Returns a string as a scalar: plain if it consists of words, else in quotes. Single ones cannot
/// have control characters. LLVM has the same forms, but for commas, which end a plain scalar.
pub(crate) fn scalar(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-^. ".contains(c);
    let is_keyword = KEYWORDS.iter().any(|word| word.eq_ignore_ascii_case(text));
    let is_word = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if is_word && text.chars().all(is_plain) && !text.ends_with(' ') && !is_keyword {
        return text.to_owned();
    }
    if text.chars().all(|c| c == ' ' || c.is_ascii_graphic()) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    text.chars().for_each(|c| escape(&mut quoted, c));
    quoted.push('"');
    quoted
}

/// Adds a character to a scalar in double quotes.
fn escape(quoted: &mut String, c: char) {
    match c {
        '"' | '\\' => quoted.extend(['\\', c]),
        '\n' => quoted.push_str("\\n"),
        '\t' => quoted.push_str("\\t"),
        '\r' => quoted.push_str("\\r"),
        ' ' => quoted.push(c),
        c if c.is_ascii_graphic() => quoted.push(c),
        c => match u32::from(c) {
            code @ 0..=0xff => *quoted += &format!("\\x{code:02X}"),
            code @ 0x100..=0xffff => *quoted += &format!("\\u{code:04X}"),
            code => *quoted += &format!("\\U{code:08X}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(scalar: &str) -> String {
        let mut events = Events::of_text(scalar);
        loop {
            if let Event::Scalar(text, ..) = events.next().unwrap().unwrap() {
                return text.into_owned();
            }
        }
    }

    #[test]
    fn scalars_are_read_as_they_were() {
        for (text, written) in [
            ("main", "main"),
            ("a b-c.1", "a b-c.1"),
            ("a, b", "'a, b'"),
            ("a ", "'a '"),
            ("", "''"),
            ("1", "'1'"),
            ("0x1f", "'0x1f'"),
            ("True", "'True'"),
            ("a::b<'c>", "'a::b<''c>'"),
            ("a\"\\\n\u{7}é\u{2028}😀\0 b", r#""a\"\\\n\x07\xE9\u2028\U0001F600\x00 b""#),
        ] {
            assert_eq!(scalar(text), written);
            assert_eq!(read(&format!("[ {written} ]")), text);
        }
    }
}
