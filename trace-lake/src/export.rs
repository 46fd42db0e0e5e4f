//! All tables as Parquet files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{bail, Context, Result};

use crate::cli::Format;
use crate::input::STANDARD;
use crate::message::HINT;
use crate::output::Output;
use crate::session::QuerySession;
use crate::tables::{Table, TABLES};

/// Writes each table to a file `NAME.parquet` in a folder, which is created. Rows are sorted by
/// time, so that readers of a part of the time read few row groups, or by their ids.
///
/// # Errors
///
/// Reading the archive or writing a file failed, or a file of a store is damaged. Files that are
/// complete stay.
pub async fn export(session: &QuerySession, folder: &Path) -> Result<()> {
    if folder == Path::new(STANDARD) {
        bail!("cannot write a folder to standard output{HINT}use --export FOLDER");
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for table in TABLES {
        session.verify(table).await?;
        let output = Output { format: Format::Parquet, path: Some(path(folder, table)) };
        for statement in session.statements(&query(table))? {
            output.write(session.frame(statement).await?).await?;
        }
    }
    Ok(())
}

/// Returns the files that an export to a folder writes.
pub(crate) fn paths(folder: &Path) -> impl Iterator<Item = PathBuf> + use<'_> {
    TABLES.iter().map(|table| path(folder, table))
}

fn path(folder: &Path, table: &Table) -> PathBuf {
    folder.join(format!("{}.parquet", table.name))
}

/// The columns after the time by which rows are sorted, as far as a table has them.
const KEYS: [&str; 3] = ["id", "owner_id", "key"];

fn query(table: &Table) -> String {
    let has = |name: &&str| table.columns.iter().any(|column| column.name == *name);
    let keys: Vec<&str> = table.time.into_iter().chain(KEYS.into_iter().filter(has)).collect();
    let order = if keys.is_empty() { "" } else { " ORDER BY " };
    format!("SELECT * FROM {}{order}{}", table.name, keys.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted() {
        let unsorted = TABLES.iter().filter(|table| !query(table).contains(" ORDER BY "));
        let unsorted: Vec<&str> = unsorted.map(|table| table.name).collect();
        assert_eq!(unsorted, ["archives"], "it has one row");
        let arguments = TABLES.iter().find(|table| table.name == "arguments").unwrap();
        assert_eq!(query(arguments), "SELECT * FROM arguments ORDER BY owner_id, key");
    }
}
