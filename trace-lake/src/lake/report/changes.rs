//! The names that became slower or faster from one version to the next, by the statistics of `trace
//! diff`. Each archive is a run.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::Int64Type;
use futures::TryStreamExt;
use trace_analyze::diff::{self, Change, Options};
use trace_analyze::spans::Role;
use trace_analyze::stats::{Report, Row};

use super::data::{quoted, rows, text, Name};
use crate::session::QuerySession;
use crate::store::state::ArchiveEntry;

/// The archives of a version that are compared: the newest ones.
pub(super) const RUNS: usize = 30;

/// The changes from a version of a service to the next one.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) service: String,
    pub(super) from: String,
    pub(super) to: String,
    /// The archives of both versions that are compared.
    pub(super) runs: (usize, usize),
    /// The change that costs most time is first.
    pub(super) changes: Vec<Change>,
}

/// A version of a service, with its newest archives.
struct Version<'a> {
    service: &'a str,
    version: &'a str,
    archives: Vec<&'a ArchiveEntry>,
}

/// Compares each version of a service with the one before it, in the order of their first archives.
pub(super) async fn between_versions(
    session: &QuerySession,
    archives: &[&ArchiveEntry],
) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    let mut before: Option<(Version<'_>, Vec<Report>)> = None;
    for to in versions(archives) {
        let after = reports(session, &to).await?;
        if let Some((from, before)) = before.filter(|(from, _)| from.service == to.service) {
            let runs = (from.archives.len(), to.archives.len());
            let changes = diff::compare(&before, &after, &Options::default());
            let [service, from, to] = [to.service, from.version, to.version].map(str::to_owned);
            steps.push(Step { service, from, to, runs, changes });
        }
        before = Some((to, after));
    }
    Ok(steps)
}

/// Returns the known versions by service, those of the first archive first.
fn versions<'a>(archives: &[&'a ArchiveEntry]) -> Vec<Version<'a>> {
    let mut by_version: BTreeMap<(&str, &str), Vec<&'a ArchiveEntry>> = BTreeMap::new();
    for archive in archives {
        if let Some(version) = &archive.version {
            by_version.entry((&archive.partition.service, version)).or_default().push(archive);
        }
    }
    let mut versions: Vec<_> = by_version.into_iter().collect();
    for (_, archives) in &mut versions {
        archives.sort_by_key(|archive| archive.start_ns);
    }
    let first = |archives: &[&ArchiveEntry]| archives.first().and_then(|archive| archive.start_ns);
    versions.sort_by_key(|((service, _), archives)| (*service, first(archives)));
    let version = |((service, version), archives): ((&'a str, &'a str), Vec<&'a ArchiveEntry>)| {
        Version { service, version, archives: archives.into_iter().rev().take(RUNS).collect() }
    };
    versions.into_iter().map(version).collect()
}

/// Returns the durations of the chosen names in the archives of a version. Files of other days and
/// services are not read.
async fn reports(session: &QuerySession, version: &Version<'_>) -> Result<Vec<Report>> {
    let archives = &version.archives;
    let days: BTreeSet<&str> = archives.iter().map(|it| &*it.partition.day).collect();
    let sql = format!(
        "SELECT kind, category, name, archive, dur_ns
        FROM \"trace report durations\" JOIN \"trace report names\" USING (kind, category, name)
        WHERE archive IN ({}) AND service = {} AND day IN ({})",
        quoted(archives.iter().map(|archive| &*archive.id)),
        quoted([version.service]),
        quoted(days),
    );
    let mut runs: BTreeMap<String, BTreeMap<Name, Row>> =
        archives.iter().map(|archive| (archive.id.clone(), BTreeMap::new())).collect();
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
