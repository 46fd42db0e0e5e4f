//! `glob(pattern, text)`, the operator `GLOB` of SQLite.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, BooleanBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::exec_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use regex::Regex;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Glob {
    signature: Signature,
}

impl Glob {
    pub(super) fn new() -> Self {
        let types = vec![DataType::Utf8, DataType::Utf8];
        Self { signature: Signature::exact(types, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Glob {
    fn name(&self) -> &str {
        "glob"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&call.args)?;
        let [patterns, texts] = &arrays[..] else { return exec_err!("glob has two arguments") };
        let (patterns, texts) = (patterns.as_string::<i32>(), texts.as_string::<i32>());
        let mut matches = BooleanBuilder::new();
        let mut last: Option<(&str, Regex)> = None;
        for row in 0..texts.len() {
            if patterns.is_null(row) || texts.is_null(row) {
                matches.append_null();
                continue;
            }
            let pattern = patterns.value(row);
            let regex = match last.take() {
                Some((last, regex)) if last == pattern => regex,
                _ => regex_of(pattern)?,
            };
            matches.append_value(regex.is_match(texts.value(row)));
            last = Some((pattern, regex));
        }
        Ok(ColumnarValue::Array(Arc::new(matches.finish())))
    }
}

/// A regular expression that no text matches.
const NOTHING: &str = r"[^\s\S]";

/// Returns the regular expression of a pattern. No text matches a `[` without a `]`, as in SQLite.
fn regex_of(pattern: &str) -> Result<Regex> {
    let mut regex = String::from("(?s)^");
    let mut rest = pattern;
    while let Some(next) = rest.chars().next() {
        rest = &rest[next.len_utf8()..];
        match next {
            '*' => regex.push_str(".*"),
            '?' => regex.push('.'),
            '[' => {
                let (class, after) = class(rest).unwrap_or_else(|| (NOTHING.to_owned(), ""));
                regex.push_str(&class);
                rest = after;
            }
            other => regex.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
    }
    regex.push('$');
    Regex::new(&regex).map_err(|error| DataFusionError::External(error.into()))
}

/// Returns a set of characters as one of regular expressions, and the rest of the pattern. A `]` at
/// its start is in the set. A `-` between two characters makes a range, elsewhere it is in the set.
fn class(pattern: &str) -> Option<(String, &str)> {
    let (is_negated, set) = match pattern.strip_prefix('^') {
        Some(set) => (true, set),
        None => (false, pattern),
    };
    let first = set.chars().next()?.len_utf8();
    let end = first + set.get(first..)?.find(']')?;
    let ranges: String = ranges(&set[..end]).into_iter().map(range).collect();
    let class = match (is_negated, ranges.is_empty()) {
        (false, false) => format!("[{ranges}]"),
        (true, false) => format!("[^{ranges}]"),
        (false, true) => NOTHING.to_owned(),
        (true, true) => ".".to_owned(),
    };
    Some((class, &set[end + 1..]))
}

/// Returns the characters of a set. A range whose end is before its begin has none.
fn ranges(set: &str) -> Vec<(char, char)> {
    let mut ranges = Vec::new();
    // The character that can be the begin of a range.
    let mut before = None;
    let mut characters = set.chars().peekable();
    while let Some(next) = characters.next() {
        match (next, before, characters.peek().copied()) {
            ('-', Some(begin), Some(end)) => {
                characters.next();
                ranges.push((begin, end));
                before = None;
            }
            _ => {
                ranges.push((next, next));
                // A `]` can only be the first character, and begins no range.
                before = Some(next).filter(|next| *next != ']');
            }
        }
    }
    ranges.retain(|(begin, end)| begin <= end);
    ranges
}

/// Returns a range in a set of a regular expression.
fn range((begin, end): (char, char)) -> String {
    format!(r"\x{{{:x}}}-\x{{{:x}}}", u32::from(begin), u32::from(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_sqlite() {
        let table = [
            ("*", "", true),
            ("a*", "abc", true),
            ("a*", "bac", false),
            ("*read?file*", "x::read_file(1)", true),
            ("a/*", "a/b/c", true),
            ("[a-c]x", "bx", true),
            ("[^a-c]x", "bx", false),
            ("[^a-c]x", "dx", true),
            ("[]]", "]", true),
            ("[]-a]", "-", true),
            ("[]-a]", "_", false),
            ("a[", "a[", false),
            ("[", "[", false),
            ("[]", "]", false),
            ("[+--]", ",", true),
            ("[+--]", ".", false),
            ("[z-a]", "m", false),
            ("[z-a]", "z", true),
            ("[^z-a]", "m", true),
            ("[a-]", "-", true),
            ("[-a]", "-", true),
            ("[a-c-e]", "-", true),
            ("[a-c-e]", "d", false),
            ("[a&&b]", "&", true),
            ("[\\d]", "5", false),
            ("[ä-ü]x", "öx", true),
            ("A", "a", false),
            ("a.c", "abc", false),
            ("*\n*", "a\nb", true),
        ];
        for (pattern, text, expected) in table {
            assert_eq!(regex_of(pattern).unwrap().is_match(text), expected, "{pattern} {text}");
        }
    }
}
