//! The durations of a report, by name, and by day, version or host.

use anyhow::Result;
use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{Float64Type, Int64Type};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};

use crate::session::QuerySession;

/// The names of a report, those with the most time.
const NAMES: usize = 30;

/// Returns the statement for the rows that the report is about: spans and operations that are
/// complete. Programs can have the same versions, so a version has the name of its service.
fn durations(service: Option<&str>) -> String {
    let service = service.map(|service| format!(" AND {}", is("service", service)));
    let rows = |table: &str, kind: &str| {
        format!(
            "SELECT {kind} AS kind, category, name, dur_ns, archive, day, host, service,
                service || ' ' || coalesce(version, 'unknown') AS version
            FROM {table} WHERE {kind} <> 'drop' AND dur_ns IS NOT NULL{}",
            service.as_deref().unwrap_or_default()
        )
    };
    format!(
        "CREATE VIEW \"trace report durations\" AS {} UNION ALL {}",
        rows("spans", "role"),
        rows("operations", "'async'")
    )
}

/// Returns the condition that a column has a value.
fn is(column: &str, value: &str) -> String {
    format!("{column} = {}", quoted([value]))
}

/// Returns a list of texts in SQL.
pub(super) fn quoted<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let quoted = texts.into_iter().map(|text| format!("'{}'", text.replace('\'', "''")));
    quoted.collect::<Vec<_>>().join(", ")
}

/// A kind of duration, a category and a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name {
    /// `duration`, `poll` or `async`.
    pub(super) kind: String,
    pub(super) category: String,
    pub(super) name: String,
}

impl Name {
    /// Returns the name in the first three columns of a row.
    pub(super) fn of(batch: &RecordBatch, row: usize) -> Self {
        let text = |column: usize| text(batch, column, row);
        Self { kind: text(0), category: text(1), name: text(2) }
    }
}

/// What the rows of a name are separated by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dimension {
    Day,
    Version,
    Host,
}

impl Dimension {
    pub(super) const ALL: [Self; 3] = [Self::Day, Self::Version, Self::Host];

    /// Returns its column.
    pub(super) fn column(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Version => "version",
            Self::Host => "host",
        }
    }
}

/// The durations of a name on a day, of a version or of a host, in nanoseconds.
#[derive(Debug)]
pub(super) struct Spread {
    pub(super) name: Name,
    pub(super) dimension: Dimension,
    /// The day, the service and the version, or the host.
    pub(super) value: String,
    pub(super) count: i64,
    pub(super) median: f64,
    pub(super) p90: f64,
    pub(super) p99: f64,
    pub(super) longest: f64,
}

/// Chooses the names of the report, and keeps them in a table of the session. The one with the most
/// time is first.
pub(super) async fn choose(
    session: &QuerySession,
    name: Option<&str>,
    service: Option<&str>,
) -> Result<Vec<Name>> {
    let filter = name.map(|name| format!("WHERE {}", is("name", name))).unwrap_or_default();
    let table = format!(
        "CREATE TABLE \"trace report names\" AS
        SELECT kind, category, name, sum(CAST(dur_ns AS DOUBLE)) AS total
        FROM \"trace report durations\" {filter}
        GROUP BY kind, category, name ORDER BY total DESC, name LIMIT {NAMES}"
    );
    session.run(&durations(service)).await?;
    session.run(&table).await?;
    let sql = "SELECT kind, category, name FROM \"trace report names\" ORDER BY total DESC, name";
    let mut names = Vec::new();
    let mut batches = rows(session, sql).await?;
    while let Some(batch) = batches.try_next().await? {
        names.extend((0..batch.num_rows()).map(|row| Name::of(&batch, row)));
    }
    Ok(names)
}

/// Returns the spreads of the chosen names. Percentiles are estimates of a t-digest, so that memory
/// does not grow with the rows.
pub(super) async fn spreads(session: &QuerySession) -> Result<Vec<Spread>> {
    let mut spreads = Vec::new();
    for dimension in Dimension::ALL {
        let column = dimension.column();
        let at = |share: f64| format!("approx_percentile_cont(CAST(dur_ns AS DOUBLE), {share})");
        let sql = format!(
            "SELECT kind, category, name, {column}, count(*), {}, {}, {},
                CAST(max(dur_ns) AS DOUBLE)
            FROM \"trace report durations\" JOIN \"trace report names\"
                USING (kind, category, name)
            GROUP BY kind, category, name, {column} ORDER BY {column}",
            at(0.5),
            at(0.9),
            at(0.99)
        );
        let mut batches = rows(session, &sql).await?;
        while let Some(batch) = batches.try_next().await? {
            spreads.extend((0..batch.num_rows()).map(|row| spread(&batch, row, dimension)));
        }
    }
    Ok(spreads)
}

fn spread(batch: &RecordBatch, row: usize, dimension: Dimension) -> Spread {
    let number = |column: usize| batch.column(column).as_primitive::<Float64Type>().value(row);
    Spread {
        name: Name::of(batch, row),
        dimension,
        value: text(batch, 3, row),
        count: batch.column(4).as_primitive::<Int64Type>().value(row),
        median: number(5),
        p90: number(6),
        p99: number(7),
        longest: number(8),
    }
}

/// Runs statements, and returns the batches of the last one.
pub(super) async fn rows(
    session: &QuerySession,
    sql: &str,
) -> Result<BoxStream<'static, datafusion::error::Result<RecordBatch>>> {
    let mut batches = futures::stream::empty().boxed();
    for statement in session.statements(sql)? {
        batches = session.frame(statement).await?.execute_stream().await?.boxed();
    }
    Ok(batches)
}

/// Returns a text of a row, or an empty one.
pub(super) fn text(batch: &RecordBatch, column: usize, row: usize) -> String {
    let texts = batch.column(column).as_string::<i32>();
    if texts.is_valid(row) {
        texts.value(row).to_owned()
    } else {
        String::new()
    }
}
