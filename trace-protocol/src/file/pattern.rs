//! Placeholders in the names of outputs.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The values of the placeholders.
#[derive(Debug, Clone, Copy)]
pub struct Placeholders<'a> {
    /// `%p`: the id of the process that writes the output.
    pub pid: u32,
    /// `%n`: the name of the recorded program.
    pub program: &'a OsStr,
    /// `%t`: the time at which recording starts.
    pub time: SystemTime,
}

impl Placeholders<'_> {
    /// Replaces `%p`, `%n` and `%t` in a path, and `%%` by `%`.
    ///
    /// # Errors
    ///
    /// If another character or nothing follows `%`.
    pub fn expand(&self, path: &Path) -> Result<PathBuf, UnknownPlaceholder> {
        let mut parts = path.as_os_str().as_bytes().split(|byte| *byte == b'%');
        let mut expanded = parts.next().unwrap_or_default().to_owned();
        while let Some(part) = parts.next() {
            match part.split_first() {
                Some((b'p', rest)) => push(&mut expanded, self.pid.to_string().as_bytes(), rest),
                Some((b'n', rest)) => push(&mut expanded, &file_name(self.program), rest),
                Some((b't', rest)) => push(&mut expanded, utc(self.time).as_bytes(), rest),
                Some(_) => return Err(UnknownPlaceholder::starting(part)),
                // Nothing is between two percent signs. The text behind them is the next part.
                None => match parts.next() {
                    Some(rest) => push(&mut expanded, b"%", rest),
                    None => return Err(UnknownPlaceholder(None)),
                },
            }
        }
        Ok(OsString::from_vec(expanded).into())
    }
}

fn push(expanded: &mut Vec<u8>, value: &[u8], rest: &[u8]) {
    expanded.extend_from_slice(value);
    expanded.extend_from_slice(rest);
}

/// Returns the name of a program as a part of a file's name. Processes choose their names, which
/// may contain a slash.
fn file_name(program: &OsStr) -> Vec<u8> {
    let replaced = |byte: &u8| if *byte == b'/' { b'_' } else { *byte };
    program.as_bytes().iter().map(replaced).collect()
}

/// A `%` in a path that starts no placeholder: the character behind it, if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownPlaceholder(Option<char>);

impl UnknownPlaceholder {
    fn starting(text: &[u8]) -> Self {
        let valid = text.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        Self(Some(valid.chars().next().unwrap_or(char::REPLACEMENT_CHARACTER)))
    }
}

impl fmt::Display for UnknownPlaceholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(letter) => write!(f, "unknown '%{letter}' in the name")?,
            None => write!(f, "'%' at the end of the name")?,
        }
        write!(f, ": use %p (process), %n (program), %t (time) or %% (percent sign)")
    }
}

impl std::error::Error for UnknownPlaceholder {}

/// Returns a time as a part of a file's name, in UTC: `20261122T120431.250Z`.
// The C library's local time would read the environment, which a traced program may change.
pub fn utc(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let millisecond = since.subsec_millis();
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}.{millisecond:03}Z")
}

/// Returns year, month and day of a number of days since 1970-01-01.
///
/// Counts years from March, so that a leap day ends a year, from 0000-03-01 on.
fn civil(days: u64) -> (u64, u64, u64) {
    const DAYS_OF_400_YEARS: u64 = 146_097;
    let days = days + 719_468;
    let (era, day) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Months from March have 153 days in each five.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn expand(path: &str, program: &str) -> Result<PathBuf, UnknownPlaceholder> {
        let time = UNIX_EPOCH + Duration::from_millis(1_795_348_471_250);
        Placeholders { pid: 77, program: program.as_ref(), time }.expand(path.as_ref())
    }

    #[test]
    fn placeholders_are_replaced_once() {
        for (path, expected) in [
            ("trace.fxt", "trace.fxt"),
            ("%p.fxt", "77.fxt"),
            ("a/%n-%p-%t.fxt", "a/app-77-20261122T115431.250Z.fxt"),
            ("%%p%%%p%%", "%p%77%"),
            ("", ""),
        ] {
            assert_eq!(expand(path, "app"), Ok(expected.into()), "{path}");
        }
        assert_eq!(expand("%n.fxt", "../%p"), Ok(".._%p.fxt".into()));
    }

    #[test]
    fn unknown_letters_are_errors() {
        for (path, reason) in [
            ("%x", "unknown '%x' in the name: "),
            ("100% of it", "unknown '% ' in the name: "),
            ("%é", "unknown '%é' in the name: "),
            ("a%", "'%' at the end of the name: "),
            ("%%%", "'%' at the end of the name: "),
        ] {
            let error = expand(path, "app").unwrap_err().to_string();
            assert!(error.starts_with(reason), "{path}: {error}");
        }
    }

    #[test]
    fn times_are_in_utc() {
        let at = |seconds| utc(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "19700101T000000.000Z");
        assert_eq!(at(951_782_399), "20000228T235959.000Z");
        assert_eq!(at(951_782_400), "20000229T000000.000Z");
        assert_eq!(at(951_868_800), "20000301T000000.000Z");
        assert_eq!(at(4_107_542_399), "21000228T235959.000Z");
        assert_eq!(at(4_107_542_400), "21000301T000000.000Z");
        assert_eq!(at(1_735_689_599), "20241231T235959.000Z");
    }
}
