//! Errors of queries.

use anyhow::anyhow;
use datafusion::common::Span;
use datafusion::error::DataFusionError;

use crate::message::describe;

/// Returns the error of a query, with the place in its text if that is known.
pub(crate) fn error_of_query(error: DataFusionError, sql: &str) -> anyhow::Error {
    if let DataFusionError::External(error) = error.find_root() {
        return anyhow!("{}", describe(&**error));
    }
    let span = error.diagnostic().and_then(|diagnostic| diagnostic.span);
    let text = error.strip_backtrace();
    let span = span.or_else(|| span_in(&text));
    let place = span.and_then(|span| place(sql, span)).unwrap_or_default();
    anyhow!("{}{place}", short(&text))
}

/// Returns a message of the engine without the kinds of error that it starts with.
fn short(text: &str) -> &str {
    const KINDS: [&str; 9] = [
        "External error: ",
        "SQL error: ",
        "Error during planning: ",
        "Schema error: ",
        "Execution error: ",
        "Arrow error: ",
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
    let location =
        datafusion::common::Location { line: line.parse().ok()?, column: column.parse().ok()? };
    Some(Span { start: location, end: location })
}

/// Returns the line of a place, with a mark below it.
fn place(sql: &str, span: Span) -> Option<String> {
    let (line, column) = (span.start.line, span.start.column);
    let text = sql.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?)?;
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
        assert!(!text.contains("SQL error"), "{text}");
    }
}
