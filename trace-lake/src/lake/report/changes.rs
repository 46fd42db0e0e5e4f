//! The names that became slower or faster from one version to the next, by the statistics of `trace
//! diff`. Each archive is a run.

use std::collections::BTreeMap;

use anyhow::Result;
use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::Int64Type;
use futures::TryStreamExt;
use trace_analyze::diff::{self, Change, Options};
use trace_analyze::spans::Role;
use trace_analyze::stats::{Report, Row};

use super::data::{rows, text, Name};
use crate::session::Session;
use crate::store::state::{ArchiveEntry, State};

/// The archives of a version that are compared: the newest ones.
pub(super) const RUNS: usize = 30;

/// The changes from a version to the next one.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) from: String,
    pub(super) to: String,
    /// The archives of both versions that are compared.
    pub(super) runs: (usize, usize),
    /// The change that costs most time is first.
    pub(super) changes: Vec<Change>,
}

/// Compares each version with the one before it, in the order of their first archives.
pub(super) async fn between_versions(session: &Session, state: &State) -> Result<Vec<Step>> {
    let versions = versions(state);
    let mut steps = Vec::new();
    for pair in versions.windows(2) {
        let [(from, before), (to, after)] = pair else { continue };
        let runs = (before.len(), after.len());
        let (before, after) = (reports(session, before).await?, reports(session, after).await?);
        let changes = diff::compare(&before, &after, &Options::default());
        steps.push(Step { from: from.clone(), to: to.clone(), runs, changes });
    }
    Ok(steps)
}

/// Returns the known versions with the ids of their newest archives, those of the first archive
/// first.
fn versions(state: &State) -> Vec<(String, Vec<String>)> {
    let mut archives: BTreeMap<&str, Vec<&ArchiveEntry>> = BTreeMap::new();
    for archive in state.archives.values() {
        if let Some(version) = &archive.version {
            archives.entry(version).or_default().push(archive);
        }
    }
    let mut versions: Vec<_> = archives.into_iter().collect();
    for (_, archives) in &mut versions {
        archives.sort_by_key(|archive| archive.start_ns);
    }
    versions.sort_by_key(|(_, archives)| archives.first().and_then(|archive| archive.start_ns));
    let newest = |archives: Vec<&ArchiveEntry>| {
        archives.iter().rev().take(RUNS).map(|archive| archive.id.clone()).collect()
    };
    versions.into_iter().map(|(version, it)| (version.to_owned(), newest(it))).collect()
}

/// Returns the durations of the chosen names in archives.
async fn reports(session: &Session, archives: &[String]) -> Result<Vec<Report>> {
    let ids: Vec<String> = archives.iter().map(|id| format!("'{id}'")).collect();
    let sql = format!(
        "SELECT kind, category, name, archive, dur_ns
        FROM \"trace report durations\" JOIN \"trace report names\" USING (kind, category, name)
        WHERE archive IN ({})",
        ids.join(", ")
    );
    let mut runs: BTreeMap<String, BTreeMap<Name, Row>> =
        archives.iter().map(|id| (id.clone(), BTreeMap::new())).collect();
    let mut batches = rows(session, &sql).await?;
    while let Some(batch) = batches.try_next().await? {
        let lengths = batch.column(4).as_primitive::<Int64Type>();
        for row in 0..batch.num_rows() {
            let run = runs.entry(text(&batch, 3, row)).or_default();
            let length = u64::try_from(lengths.value(row)).unwrap_or(0);
            run.entry(Name::of(&batch, row)).or_default().lengths.add(length);
        }
    }
    Ok(runs.into_values().map(report).collect())
}

fn report(rows: BTreeMap<Name, Row>) -> Report {
    let mut report = Report::default();
    for (Name { kind, category, name }, mut row) in rows {
        (row.category, row.name) = (category, name);
        match &*kind {
            "async" => report.operations.push(row),
            "poll" => {
                row.role = Role::Poll;
                report.durations.push(row);
            }
            _ => report.durations.push(row),
        }
    }
    report
}
