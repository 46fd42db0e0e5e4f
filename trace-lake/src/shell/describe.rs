//! Descriptions of tables, views and functions.

use crate::columns::Column;
use crate::functions::FUNCTIONS;
use crate::store::{FILE_COLUMNS, FOLDER_COLUMNS};
use crate::tables::{Table, TABLES};
use crate::views::VIEWS;

/// Returns the names of tables and views.
pub(super) fn tables() -> String {
    let tables = TABLES.iter().map(|table| (table.name, table.about));
    let views = VIEWS.iter().map(|view| (view.name, view.about));
    format!("Tables:\n{}\nViews for Perfetto's queries:\n{}", lines(tables), lines(views))
}

/// Returns the columns of a table, or of all. Fails if there is no such table.
pub(super) fn schema(name: Option<&str>) -> Result<String, String> {
    let Some(name) = name.map(|name| name.trim_end_matches(';')) else {
        let tables = TABLES.iter().map(|table| columns(table)).collect::<Vec<_>>().join("\n");
        return Ok(format!("{tables}\nIn a store, each table has in addition:\n{}", of_stores()));
    };
    if let Some(table) = TABLES.iter().find(|table| table.name.eq_ignore_ascii_case(name)) {
        return Ok(columns(table));
    }
    match VIEWS.iter().find(|view| view.name.eq_ignore_ascii_case(name)) {
        Some(view) => Ok(format!("{}\n", view.sql.trim_end())),
        None => Err(format!("no table is named {name}: .tables lists them\n")),
    }
}

/// Returns the functions.
pub(super) fn functions() -> String {
    lines(FUNCTIONS.iter().map(|function| (function.call, function.about)))
}

fn columns(table: &Table) -> String {
    let columns: String = table.columns.iter().map(column).collect();
    format!("{}: {}\n{columns}", table.name, table.about)
}

/// Returns the columns that tables of a store have in addition.
fn of_stores() -> String {
    FILE_COLUMNS.iter().chain(&FOLDER_COLUMNS).map(column).collect()
}

fn column(column: &Column) -> String {
    format!("  {:18} {:22} {}\n", column.name, column.kind.sql(), column.about)
}

fn lines<'a>(rows: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> String {
    let width = rows.clone().map(|(name, _)| name.len()).max().unwrap_or(0);
    rows.map(|(name, about)| format!("  {name:width$}  {about}\n")).collect()
}
