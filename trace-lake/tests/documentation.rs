//! The pages `docs/query.md` and `docs/lake.md` against what exists.

use std::fs;
use std::path::Path;

use trace_lake::columns::Column;
use trace_lake::functions::FUNCTIONS;
use trace_lake::queries::QUERIES;
use trace_lake::store::{FILE_COLUMNS, FOLDER_COLUMNS};
use trace_lake::tables::TABLES;
use trace_lake::views::VIEWS;

/// Returns the lines that the page must have.
fn expected() -> Vec<String> {
    let mut lines = Vec::new();
    for table in TABLES {
        lines.push(format!("### {}", table.name));
        lines.push(format!("{}.", table.about));
        let columns = table.columns.iter();
        lines.extend(columns.map(|column| {
            format!("| `{}` | {} | {} |", column.name, column.kind.sql(), column.about)
        }));
    }
    lines.extend(VIEWS.iter().map(|view| format!("| `{}` |", view.name)));
    lines.extend(FUNCTIONS.iter().map(|it| format!("| `{}` | {} |", it.call, it.about)));
    lines.extend(QUERIES.iter().map(|query| format!("| `@{}` |", query.name)));
    lines
}

/// Fails if a page lacks a line, or has them in another order.
fn check(page: &str, lines: impl IntoIterator<Item = String>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(page);
    let text = fs::read_to_string(path).unwrap();
    let mut rest = &*text;
    for line in lines {
        let place = rest.find(&line);
        let place = place.unwrap_or_else(|| panic!("docs/{page} lacks, in this order: {line}"));
        rest = &rest[place + line.len()..];
    }
}

#[test]
fn the_page_has_all_tables_views_functions_and_queries() {
    check("query.md", expected());
}

#[test]
fn the_page_of_stores_has_all_columns() {
    let columns = FILE_COLUMNS.into_iter().chain(FOLDER_COLUMNS);
    let line = |it: Column| format!("| `{}` | {} | {} |", it.name, it.kind.sql(), it.about);
    check("lake.md", columns.map(line));
}
