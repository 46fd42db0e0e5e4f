//! Ready queries.

/// A ready query.
#[derive(Debug)]
pub struct Query {
    /// Its name, without the `@`.
    pub name: &'static str,
    /// What it returns.
    pub about: &'static str,
    /// The statement.
    pub sql: &'static str,
}

macro_rules! queries {
    ($($name:literal: $about:literal,)*) => {
        /// All ready queries.
        pub const QUERIES: &[Query] = &[$(Query {
            name: $name,
            about: $about,
            sql: include_str!(concat!("queries/", $name, ".sql")),
        }),*];
    };
}

queries! {
    "slowest-requests": "The longest async operations, with their arguments",
    "slowest-spans": "The longest spans, with their arguments",
    "hottest": "The names of spans with the most self time",
    "percentiles": "Count and percentiles of the durations of each name",
    "threads": "The time in spans of each thread, and on a processor where it is known",
    "waits": "Spans with the most time off the processor, from scheduling records",
    "counters": "Smallest, mean and largest value of each counter",
    "flows": "The arrows between names of spans, with their delays",
    "errors": "Spans and instants with an argument `error`",
    "losses": "Dropped records by process and reason",
    "gaps": "The longest times without a span on each thread",
}

/// Returns the statement of a query: that of a ready one, if the text is `@name`.
///
/// # Errors
///
/// No ready query has the name.
pub fn resolve(text: &str) -> Result<&str, String> {
    let Some(name) = text.trim().strip_prefix('@') else { return Ok(text) };
    let query = QUERIES.iter().find(|query| query.name == name);
    query.map(|query| query.sql).ok_or_else(|| {
        let names: Vec<&str> = QUERIES.iter().map(|query| query.name).collect();
        format!("no ready query is named @{name}\nhint: the names are {}", names.join(", "))
    })
}

/// Returns the list of ready queries.
#[must_use]
pub fn list() -> String {
    let width = QUERIES.iter().map(|query| query.name.len()).max().unwrap_or(0);
    let line = |query: &Query| format!("@{:width$}  {}\n", query.name, query.about);
    QUERIES.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use trace_format::{Argument, EventKind, Value};

    use super::*;
    use crate::testing::{archive, complete, event, query};

    #[test]
    fn all_ready_queries_run() {
        let error = [Argument::new("error", Value::String("timeout".into()))];
        let bytes = archive(&[
            event("o", 5, EventKind::AsyncBegin { id: 7 }, &error),
            complete("a", 10, 100),
            complete("b", 20, 30),
            event("f", 25, EventKind::FlowBegin { id: 3 }, &[]),
            complete("c", 150, 170),
            event("f", 160, EventKind::FlowEnd { id: 3 }, &[]),
            event("o", 200, EventKind::AsyncEnd { id: 7 }, &[]),
            event("n", 9, EventKind::Counter { id: 1 }, &[Argument::new("v", Value::Int32(4))]),
        ]);
        let mut empty = Vec::new();
        for ready in QUERIES {
            if query(&bytes, ready.sql).is_empty() {
                empty.push(ready.name);
            }
        }
        assert_eq!(empty, ["waits", "errors", "losses"]);
        let slowest = query(&bytes, resolve("@slowest-requests").unwrap());
        assert!(
            slowest[0].contains("cat|o|") && slowest[0].contains("error: timeout"),
            "{slowest:?}"
        );
    }

    #[test]
    fn unknown_names_are_refused() {
        assert_eq!(resolve("SELECT 1"), Ok("SELECT 1"));
        assert!(resolve("@slow").unwrap_err().contains("the names are slowest-requests, "));
        assert!(list().starts_with("@slowest-requests  The longest"));
    }
}
