//! The page `docs/query.md` against what exists.

use std::fs;
use std::path::Path;

use trace_lake::functions::FUNCTIONS;
use trace_lake::queries::QUERIES;
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

#[test]
fn the_page_has_all_tables_views_functions_and_queries() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/query.md");
    let page = fs::read_to_string(page).unwrap();
    let mut rest = &*page;
    for line in expected() {
        let place = rest.find(&line);
        let place = place.unwrap_or_else(|| panic!("docs/query.md lacks, in this order: {line}"));
        rest = &rest[place + line.len()..];
    }
}
