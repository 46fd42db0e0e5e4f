//! Errors of queries.

use anyhow::anyhow;
use datafusion::common::{Location, Span};
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::parser::ParserError;

use crate::message::{describe, HINT};

/// Returns the error of a query, with the place in its text if that is known.
pub(crate) fn error_of_query(error: DataFusionError, sql: &str) -> anyhow::Error {
    if let DataFusionError::External(error) = error.find_root() {
        return anyhow!("{}", describe(&**error));
    }
    if let DataFusionError::ResourcesExhausted(text) = error.find_root() {
        return anyhow!("{}", of_memory(text));
    }
    if let DataFusionError::SQL(error, _) = error.find_root() {
        return error_of_parser(error, sql);
    }
    let span = error.diagnostic().and_then(|diagnostic| diagnostic.span);
    let text = error.strip_backtrace();
    let span = span.or_else(|| span_in(&text));
    let place = span.and_then(|span| place(sql, span)).unwrap_or_default();
    // Lists of candidates are indented by tabs, which are not printed as such.
    anyhow!("{}{place}", short(without_report(&text)).replace('\t', "  "))
}

/// Returns the message of a query that got no more memory: the engine's names the settings of its
/// pool.
fn of_memory(text: &str) -> String {
    let part = text
        .strip_prefix("Failed to allocate additional ")
        .or_else(|| text.strip_prefix("Additional allocation failed"))
        .and_then(|rest| rest.split_once(" for ")?.1.split([' ', '[', '#', '(']).next());
    match part {
        Some(part) => format!(
            "the query needs more memory than --memory allows ({part})\
             {HINT}use --memory with more MiB, or fewer rows and columns"
        ),
        None => text.to_owned(),
    }
}

/// Returns the end of a message that asks for a report of a defect of the engine: a call with wrong
/// arguments is none.
fn without_report(text: &str) -> &str {
    const REPORT: &str = "https://github.com/apache/datafusion/issues. ";
    text.split_once(REPORT).map_or(text, |(_, cause)| cause)
}

/// Returns the error of a text that is not SQL.
fn error_of_parser(error: &ParserError, sql: &str) -> anyhow::Error {
    let text = match error {
        ParserError::ParserError(text) | ParserError::TokenizerError(text) => &**text,
        ParserError::RecursionLimitExceeded => "its parts are nested too deeply",
    };
    let span = span_in(text).or_else(|| text.ends_with(END).then(|| end_of(sql)));
    let place = span.and_then(|span| place(sql, span)).unwrap_or_default();
    let text = text.rsplit_once(" at Line: ").map_or(text, |(text, _)| text);
    let text = text.replace(END, ", found its end").replace(", found: ", ", found ");
    let text = text.replace("Expected: ", "expected ");
    anyhow!("cannot parse the query: {text}{place}")
}

/// What the parser found at the end of the text.
const END: &str = ", found: EOF";

/// Returns the place after a text.
fn end_of(sql: &str) -> Span {
    let sql = sql.trim_end();
    let (lines, last) = (sql.lines().count(), sql.lines().last().unwrap_or_default());
    let column = last.chars().count() as u64 + 1;
    let end = Location { line: lines as u64, column };
    Span { start: end, end }
}

/// Returns a message of the engine without the kinds of error that it starts with.
fn short(text: &str) -> &str {
    const KINDS: [&str; 10] = [
        "External error: ",
        "SQL error: ",
        "Error during planning: ",
        "Schema error: ",
        "Execution error: ",
        "Arrow error: ",
        "Parquet error: ",
        "Optimizer rule 'simplify_expressions' failed\ncaused by\n",
        "type_coercion\ncaused by\n",
        "Invalid or Unsupported Configuration: ",
    ];
    match KINDS.iter().find_map(|kind| text.strip_prefix(kind)) {
        Some(rest) => short(rest),
        None => text.trim_end(),
    }
}

/// Returns the place that a message of the parser has, as `at Line: 2, Column: 14`.
fn span_in(text: &str) -> Option<Span> {
    let (_, rest) = text.rsplit_once("Line: ")?;
    let (line, rest) = rest.split_once(", Column: ")?;
    let column: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let location = Location { line: line.parse().ok()?, column: column.parse().ok()? };
    Some(Span { start: location, end: location })
}

/// Returns the line of a place, with a mark below it.
fn place(sql: &str, span: Span) -> Option<String> {
    let (line, column) = (span.start.line, span.start.column);
    let text = sql.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?)?;
    // A tab counts as one column.
    let text = text.replace('\t', " ");
    let before = usize::try_from(column).ok()?.checked_sub(1)?;
    let marks = match span.end.line == line {
        true => usize::try_from(span.end.column.saturating_sub(column)).ok()?.max(1),
        false => 1,
    };
    let number = line.to_string();
    let margin = " ".repeat(number.len());
    let (indent, marks) = (" ".repeat(before), "^".repeat(marks));
    Some(format!("\n{number} | {text}\n{margin} | {indent}{marks}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_marks_its_place() {
        let error = crate::sql::statements("SELECT a\nFROM t WHERE >").unwrap_err();
        let text = error_of_query(error, "SELECT a\nFROM t WHERE >").to_string();
        assert!(text.ends_with("\n2 | FROM t WHERE >\n  |              ^"), "{text}");
        assert!(text.starts_with("cannot parse the query: expected an expression, found >\n"));
    }

    #[test]
    fn an_error_of_the_parser_is_a_sentence() {
        let message =
            |sql| error_of_query(crate::sql::statements(sql).unwrap_err(), sql).to_string();
        let expected = "cannot parse the query: expected an expression, found its end\n\
            1 | SELECT\n  |       ^";
        assert_eq!(message("SELECT\n"), expected);
        let expected = "cannot parse the query: Unterminated string literal\n\
            1 | SELECT 'abc\n  |        ^";
        assert_eq!(message("SELECT 'abc"), expected);
        assert!(message("SELECT\ta b c").ends_with("\n1 | SELECT a b c\n  |            ^"));
    }

    #[test]
    fn a_query_without_memory_names_the_option() {
        let bytes = crate::testing::archive(&[crate::testing::complete("a", 1, 3)]);
        let (_file, archive) = crate::testing::opened(&bytes).unwrap();
        let subject = crate::subject::Subject::Archive(archive);
        let sql = "SELECT a.name FROM spans a JOIN spans b ON a.name = b.name";
        let error = crate::session::runtime().unwrap().block_on(async {
            let session = crate::session::session(&subject, 1).await.unwrap();
            let statement = session.statements(sql).unwrap().remove(0);
            session.frame(statement).await.unwrap().collect().await.unwrap_err()
        });
        let text = error_of_query(error, sql).to_string();
        let expected = "the query needs more memory than --memory allows (HashJoinInput)";
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn a_call_with_wrong_arguments_lists_candidates() {
        let bytes = crate::testing::archive(&[]);
        let error = crate::testing::try_query(&bytes, "SELECT sum('a', 'b')").unwrap_err();
        let error = error.downcast::<DataFusionError>().unwrap();
        let text = error_of_query(error, "").to_string();
        assert!(text.contains("\n  sum(") && !text.contains('\t'), "{text}");
        assert!(text.starts_with("No function matches"), "{text}");
    }
}
