//! Levels of log messages.

use std::fmt;
use std::str::FromStr;

/// A level of log messages, the most severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// `ERROR`.
    Error,
    /// `WARN`.
    Warn,
    /// `INFO`.
    Info,
    /// `DEBUG`.
    Debug,
    /// `TRACE`.
    Trace,
}

/// The levels as the crates `log` and `tracing` name them.
const LEVELS: [(&str, LogLevel); 6] = [
    ("error", LogLevel::Error),
    ("warn", LogLevel::Warn),
    ("warning", LogLevel::Warn),
    ("info", LogLevel::Info),
    ("debug", LogLevel::Debug),
    ("trace", LogLevel::Trace),
];

impl LogLevel {
    /// Returns the level with this name, in upper or lower case.
    pub(super) fn from_name(name: &[u8]) -> Option<Self> {
        let mut levels = LEVELS.iter();
        let found = levels.find(|(level, _)| level.as_bytes().eq_ignore_ascii_case(name));
        found.map(|(_, level)| *level)
    }

    /// Returns the names of the levels, as programs record them.
    pub(super) fn names() -> impl Iterator<Item = String> {
        LEVELS.iter().map(|(name, _)| name.to_ascii_uppercase())
    }

    /// Returns the level of a message: its first word, as in `ERROR net: no route`, perhaps in
    /// brackets or with a colon.
    pub(super) fn of_message(message: &[u8]) -> Option<Self> {
        let is_letter = |byte: &u8| byte.is_ascii_alphabetic();
        let start = message.iter().position(is_letter).filter(|start| *start <= 1)?;
        let word = message.get(start..)?;
        let end = word.iter().position(|byte| !is_letter(byte)).unwrap_or(word.len());
        Self::from_name(word.get(..end)?)
    }
}

impl FromStr for LogLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::from_name(text.as_bytes()).ok_or_else(|| {
            format!("'{text}' is not a log level: error, warn, info, debug or trace")
        })
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = LEVELS.iter().find(|(_, level)| level == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_is_the_first_word() {
        for (message, level) in [
            ("ERROR net: no route", Some(LogLevel::Error)),
            ("warn: hot", Some(LogLevel::Warn)),
            ("[WARNING] hot", Some(LogLevel::Warn)),
            ("INFO", Some(LogLevel::Info)),
            ("errors happen", None),
            ("an ERROR", None),
            ("  ERROR", None),
            ("", None),
        ] {
            assert_eq!(LogLevel::of_message(message.as_bytes()), level, "{message}");
        }
    }

    #[test]
    fn errors_are_the_most_severe() {
        assert!(LogLevel::Error < LogLevel::Warn && LogLevel::Debug < LogLevel::Trace);
    }
}
