//! Completion of words.

use std::collections::BTreeSet;

use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::Context;

use crate::functions::FUNCTIONS;
use crate::queries::QUERIES;
use crate::tables::TABLES;
use crate::views::VIEWS;

/// Words of SQL.
const WORDS: [&str; 25] = [
    "AND",
    "AS",
    "ASC",
    "BETWEEN",
    "CASE",
    "COUNT",
    "DESC",
    "DISTINCT",
    "ELSE",
    "END",
    "FROM",
    "GLOB",
    "GROUP BY",
    "HAVING",
    "JOIN",
    "LEFT JOIN",
    "LIKE",
    "LIMIT",
    "NULL",
    "ORDER BY",
    "OVER",
    "SELECT",
    "USING",
    "WHERE",
    "WITH",
];

/// Commands of the shell.
const COMMANDS: [&str; 6] = [".functions", ".help", ".queries", ".quit", ".schema", ".tables"];

/// Completes the word before the cursor.
pub(super) struct Helper {
    words: BTreeSet<String>,
}

impl Helper {
    pub(super) fn new() -> Self {
        let mut words: BTreeSet<String> =
            WORDS.iter().chain(&COMMANDS).map(ToString::to_string).collect();
        for table in TABLES {
            words.insert(table.name.to_owned());
            words.extend(table.columns.iter().map(|column| column.name.to_owned()));
        }
        words.extend(VIEWS.iter().map(|view| view.name.to_owned()));
        words.extend(QUERIES.iter().map(|query| format!("@{}", query.name)));
        let calls = FUNCTIONS.iter().map(|it| it.call.trim_start_matches("FROM "));
        words.extend(calls.filter_map(|call| Some(format!("{}(", call.split_once('(')?.0))));
        Self { words }
    }

    fn completions(&self, before: &str) -> (usize, Vec<String>) {
        let is_part = |letter: char| letter.is_alphanumeric() || "_.@-".contains(letter);
        let start = before.rfind(|letter| !is_part(letter)).map_or(0, |place| place + 1);
        let word = &before[start..];
        // After `table.`, a column.
        let place = match word.starts_with('.') {
            true => start,
            false => word.rfind('.').map_or(start, |dot| start + dot + 1),
        };
        let word = before[place..].to_lowercase();
        let matches = self.words.iter().filter(|known| known.to_lowercase().starts_with(&word));
        (place, matches.cloned().collect())
    }
}

impl Completer for Helper {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.completions(&line[..position]))
    }
}

impl Hinter for Helper {
    type Hint = String;
}

impl Highlighter for Helper {}

impl Validator for Helper {}

impl rustyline::Helper for Helper {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_completed_after_spaces_and_dots() {
        let helper = Helper::new();
        let found = |before| helper.completions(before);
        assert_eq!(found("SELECT is_op"), (7, vec!["is_open".to_owned()]));
        assert_eq!(found("sel"), (0, vec!["SELECT".to_owned(), "self_ns".to_owned()]));
        assert_eq!(found("SELECT s.self"), (9, vec!["self_ns".to_owned()]));
        assert_eq!(found(".sch"), (0, vec![".schema".to_owned()]));
        assert_eq!(found("@hot"), (0, vec!["@hottest".to_owned()]));
        assert_eq!(
            found("SELECT overl"),
            (7, vec!["overlap_ns(".to_owned(), "overlaps(".to_owned()])
        );
    }
}
