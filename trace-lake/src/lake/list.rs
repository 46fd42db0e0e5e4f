//! `trace lake list`: what a store has.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anyhow::Result;
use serde_json::{json, Value};
use trace_convert::visible;

use super::amount::size;
use super::cli::ListArgs;
use crate::exit::OK;
use crate::store::log;
use crate::store::state::{ArchiveEntry, Partition, State};
use crate::store::Store;

pub(super) async fn run(args: &ListArgs) -> Result<u8> {
    let store = Store::open(&args.store)?;
    let state = log::existing(&store).await?.state;
    let text = if args.files {
        files(&store, &state, args.json)?
    } else if args.archives {
        archives(&state, args.json)?
    } else {
        partitions(&state, args.json)?
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(OK)
}

/// What a partition has.
#[derive(Debug, Default)]
struct Content {
    archives: u64,
    files: u64,
    rows: u64,
    bytes: u64,
}

fn partitions(state: &State, is_json: bool) -> Result<String> {
    let mut contents: BTreeMap<&Partition, Content> = BTreeMap::new();
    for archive in state.archives.values() {
        contents.entry(&archive.partition).or_default().archives += 1;
    }
    for file in state.files.values() {
        let content = contents.entry(&file.partition).or_default();
        content.files += 1;
        content.rows += file.rows;
        content.bytes += file.bytes;
    }
    if is_json {
        let row = |(partition, content): (&&Partition, &Content)| {
            json!({
                "day": partition.day, "host": partition.host, "service": partition.service,
                "archives": content.archives, "files": content.files, "rows": content.rows,
                "bytes": content.bytes,
            })
        };
        return lines_of_json(contents.iter().map(row).collect());
    }
    let mut rows =
        vec![["DAY", "HOST", "SERVICE", "ARCHIVES", "FILES", "ROWS", "SIZE"].map(str::to_owned)];
    rows.extend(contents.iter().map(|(partition, content)| {
        let Partition { day, host, service } = partition;
        let [archives, files, rows] =
            [content.archives, content.files, content.rows].map(|number| number.to_string());
        [day.clone(), host.clone(), service.clone(), archives, files, rows, size(content.bytes)]
    }));
    Ok(table(&rows))
}

fn archives(state: &State, is_json: bool) -> Result<String> {
    let mut archives: Vec<&ArchiveEntry> = state.archives.values().collect();
    archives.sort_by_key(|archive| (archive.start_ns, &archive.id));
    if is_json {
        let rows = archives.iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
        return lines_of_json(rows);
    }
    let mut rows =
        vec![["ARCHIVE", "DAY", "HOST", "SERVICE", "VERSION", "PATH"].map(str::to_owned)];
    rows.extend(archives.iter().map(|archive| {
        let Partition { day, host, service } = archive.partition.clone();
        let version = archive.version.clone().unwrap_or_default();
        [archive.id.clone(), day, host, service, version, archive.path.clone()]
    }));
    Ok(table(&rows))
}

fn files(store: &Store, state: &State, is_json: bool) -> Result<String> {
    if is_json {
        let rows = state.files.values().map(serde_json::to_value).collect::<Result<_, _>>()?;
        return lines_of_json(rows);
    }
    Ok(state.files.keys().map(|path| format!("{}\n", store.name_of(path))).collect())
}

fn lines_of_json(rows: Vec<Value>) -> Result<String> {
    Ok(format!("{}\n", serde_json::to_string_pretty(&rows)?))
}

/// Returns rows with aligned columns.
fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| visible(&row[column]).chars().count()).max();
    let widths: Vec<usize> = (0..N).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&widths);
        let cells = cells.map(|(cell, width)| format!("{:width$}", visible(cell)));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}
