//! Tables as text and as CSV.

use std::io::{self, Write as _};
use std::iter::{once, repeat_n};

use anyhow::{Context, Result};
use trace_convert::{csv, visible, visible_json};

/// A table of text.
#[derive(Debug)]
pub(crate) struct Table {
    heads: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// The number of leading columns that are aligned to the right.
    numbers: usize,
}

impl Table {
    /// Starts a table; the first `numbers` columns are aligned to the right.
    pub(crate) fn new(heads: Vec<&'static str>, numbers: usize) -> Self {
        Self { heads, rows: Vec::new(), numbers }
    }

    /// Adds a row. Cells may contain untrusted text.
    pub(crate) fn push(&mut self, row: Vec<String>) {
        self.rows.push(row.into_iter().map(|cell| visible(&cell).into_owned()).collect());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the table as aligned text.
    pub(crate) fn text(&self) -> String {
        let heads: Vec<String> = self.heads.iter().map(|head| head.to_uppercase()).collect();
        let mut widths: Vec<usize> = heads.iter().map(|head| head.chars().count()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let mut text = String::new();
        for row in once(&heads).chain(&self.rows) {
            let start = text.len();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                // `format!` panics if a width is greater than 65,535.
                let padding = repeat_n(' ', width - cell.chars().count());
                let is_last = column + 1 == row.len();
                match column < self.numbers {
                    true => text.extend(padding.chain(cell.chars())),
                    false if is_last => text.push_str(cell),
                    false => text.extend(cell.chars().chain(padding)),
                }
                text.push_str("  ");
            }
            text.truncate(start + text[start..].trim_end().len());
            text.push('\n');
        }
        text
    }

    /// Returns the table as comma-separated values (RFC 4180, but lines end as
    /// on Unix).
    pub(crate) fn csv(&self) -> String {
        let heads: Vec<String> = self.heads.iter().map(ToString::to_string).collect();
        let rows = once(&heads).chain(&self.rows);
        let line = |row: &Vec<String>| {
            let cells: Vec<_> = row.iter().map(|cell| csv::cell(cell)).collect();
            cells.join(",") + "\n"
        };
        rows.map(line).collect()
    }
}

/// Returns a length of time with three or four digits and a unit.
pub(crate) fn human_nanos(nanos: u64) -> String {
    let value = nanos as f64;
    let (value, unit) = match nanos {
        0..=999 => return format!("{nanos}ns"),
        1_000..=999_949 => (value / 1e3, "µs"),
        999_950..=999_949_999 => (value / 1e6, "ms"),
        _ => (value / 1e9, "s"),
    };
    let digits = if value < 9.9995 { 3 } else { usize::from(value < 99.995) + 1 };
    format!("{value:.digits$}{unit}")
}

/// Writes a table or JSON to standard output. Untrusted text in JSON is escaped. A reader that
/// closes the pipe early is no error: the exit code still reports the command's result.
pub(crate) fn print(text: &str) -> Result<()> {
    print_all([visible_json(text)])
}

/// Writes the parts of a text, like [`print()`].
pub(crate) fn print_parts(parts: impl IntoIterator<Item = String>) -> Result<()> {
    print_all(parts.into_iter().map(|part| visible_json(&part).into_owned()))
}

fn print_all(texts: impl IntoIterator<Item = impl AsRef<str>>) -> Result<()> {
    let mut stdout = io::BufWriter::new(io::stdout().lock());
    let mut texts = texts.into_iter();
    let written = texts.try_for_each(|text| stdout.write_all(text.as_ref().as_bytes()));
    match written.and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("cannot write to standard output"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit() {
        let cases = [
            (0, "0ns"),
            (999, "999ns"),
            (1_000, "1.000µs"),
            (12_345, "12.35µs"),
            (123_456, "123.5µs"),
            (999_960, "1.000ms"),
            (1_234_567, "1.235ms"),
            (999_950_000, "1.000s"),
            (83_000_000_000, "83.00s"),
            (7_200_000_000_000, "7200.0s"),
        ];
        for (nanos, expected) in cases {
            assert_eq!(human_nanos(nanos), expected);
        }
    }

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new(vec!["count", "name"], 1);
        table.push(vec!["1".into(), "a,b".into()]);
        table.push(vec!["1234567".into(), "say \"x\"".into()]);
        assert_eq!(table.text(), "  COUNT  NAME\n      1  a,b\n1234567  say \"x\"\n");
        assert_eq!(table.csv(), "count,name\n1,\"a,b\"\n1234567,\"say \"\"x\"\"\"\n");
    }

    #[test]
    fn cells_can_be_long() {
        let long = "x".repeat(70_000);
        let mut table = Table::new(vec!["count", "name", "end"], 1);
        table.push(vec![long.clone(), long.clone(), "e".into()]);
        table.push(vec!["1".into(), "a".into(), "e".into()]);
        let text = table.text();
        let rows: Vec<_> = text.lines().skip(1).collect();
        let space = " ".repeat(69_999);
        assert_eq!(rows, [format!("{long}  {long}  e"), format!("{space}1  a{space}  e")]);
    }
}
