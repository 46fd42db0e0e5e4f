//! `critical_path(operation_id)` and `critical_path_of_flow(flow_id)`, as tables.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{MemTable, Session, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{plan_err, ScalarValue};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use trace_analyze::critical::{self, Choice, Segment, Wait};

use crate::archive::{external, Archive};
use crate::columns::{column, schema, Column, Kind};
use crate::message::HINT;
use crate::rows::Rows;
use crate::subject::Subject;
use crate::times::signed;

/// The columns.
const COLUMNS: &[Column] = &[
    column("start_ns", Kind::Int, "the begin in nanoseconds"),
    column("dur_ns", Kind::Int, "the duration in nanoseconds"),
    column("depth", Kind::Int, "the number of operations around its own one"),
    column("category", Kind::Text, "the category of the span or operation"),
    column("name", Kind::Text, "the name of the span or operation"),
    column("operation_id", Kind::Unsigned, "the id of the operation, or NULL"),
    column("pid", Kind::Unsigned, "the process of the thread that ran or waited, or NULL"),
    column("tid", Kind::Unsigned, "that thread, or NULL for a wait of the operation"),
    column("wait", Kind::Text, "why nothing ran, or NULL if the thread ran"),
];

/// The function.
#[derive(Debug)]
pub(super) struct CriticalPath {
    subject: Subject,
    is_flow: bool,
}

impl CriticalPath {
    pub(super) fn new(subject: Subject, is_flow: bool) -> Self {
        Self { subject, is_flow }
    }

    pub(super) fn name(&self) -> &'static str {
        if self.is_flow {
            "critical_path_of_flow"
        } else {
            "critical_path"
        }
    }
}

impl TableFunctionImpl for CriticalPath {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        let id = match args.exprs() {
            [Expr::Literal(ScalarValue::Int64(Some(id)), _)] => u64::try_from(*id).ok(),
            [Expr::Literal(ScalarValue::UInt64(Some(id)), _)] => Some(*id),
            _ => None,
        };
        let Some(id) = id else {
            return plan_err!(
                "{} has one argument, the id as a number: a subquery is not supported",
                self.name()
            );
        };
        let Subject::Archive(archive) = &self.subject else {
            return plan_err!(
                "{} reads the records of an archive, and a store has only its tables\
                 {HINT}query the archive itself: the table archives has its path",
                self.name()
            );
        };
        let (archive, is_flow) = (archive.clone(), self.is_flow);
        Ok(Arc::new(PathTable { archive, is_flow, id, schema: schema(COLUMNS) }))
    }
}

/// The path of an operation or a flow.
#[derive(Debug)]
struct PathTable {
    archive: Arc<Archive>,
    is_flow: bool,
    id: u64,
    schema: SchemaRef,
}

#[async_trait]
impl TableProvider for PathTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (archive, is_flow, id) = (self.archive.clone(), self.is_flow, self.id);
        let schema = self.schema.clone();
        let read = tokio::task::spawn_blocking(move || read(&archive, is_flow, id, schema));
        let batch = read.await.map_err(|error| DataFusionError::External(error.into()))??;
        let table = MemTable::try_new(self.schema.clone(), vec![vec![batch]])?;
        table.scan(state, projection, filters, limit).await
    }
}

fn read(archive: &Archive, is_flow: bool, id: u64, schema: SchemaRef) -> Result<RecordBatch> {
    let input = archive.input();
    let choice = Choice { flows: is_flow, id: Some(id), ..Choice::default() };
    let found = critical::slowest(input.open().map_err(external)?, &choice);
    let found = found.map_err(|error| external(input.explain(error)))?;
    archive.note_damage(found.damage);
    let Some(chosen) = found.slowest else {
        let what = if is_flow { "flow" } else { "operation" };
        let error = anyhow::anyhow!("the archive has no {what} {id} with a begin and an end");
        return Err(external(error));
    };
    let path = critical::path(&chosen, || input.open().map_err(Failed));
    let path = path.map_err(|Failed(error)| external(error))?;
    let all: Vec<usize> = (0..COLUMNS.len()).collect();
    let mut rows = Rows::new(COLUMNS, &all, schema.clone());
    let mut batches = Vec::new();
    for segment in &path.segments {
        write(segment, &mut rows);
        batches.extend(rows.end()?);
    }
    batches.push(rows.finish()?);
    Ok(datafusion::arrow::compute::concat_batches(&schema, &batches)?)
}

/// An error of opening or reading.
struct Failed(anyhow::Error);

impl From<trace_format::ReadError> for Failed {
    fn from(error: trace_format::ReadError) -> Self {
        Self(error.into())
    }
}

fn write(segment: &Segment, rows: &mut Rows) {
    rows.int(signed(segment.from));
    rows.int(signed(segment.to - segment.from));
    rows.int(segment.depth as i64);
    rows.text(&*segment.category);
    rows.text(&*segment.name);
    rows.unsigned(segment.id);
    rows.unsigned(segment.thread.map(|thread| thread.process));
    rows.unsigned(segment.thread.map(|thread| thread.thread));
    rows.text(segment.wait.as_ref().map(Wait::as_str));
}

#[cfg(test)]
mod tests {
    use trace_format::{Argument, EventKind, Value};

    use crate::testing::{archive, event, query, try_query};

    #[test]
    fn a_path_has_the_polls_and_waits_of_an_operation() {
        let poll = |count| {
            [
                Argument::new("task", Value::Uint64(7)),
                Argument::new("poll-count", Value::Uint64(count)),
            ]
        };
        let (first, second) = (poll(1), poll(2));
        let bytes = archive(&[
            event("o", 10, EventKind::AsyncBegin { id: 7 }, &[]),
            event("o", 10, EventKind::DurationComplete { end: 20 }, &first),
            event("o", 50, EventKind::DurationComplete { end: 60 }, &second),
            event("o", 60, EventKind::AsyncEnd { id: 7 }, &[]),
        ]);
        let sql = "SELECT start_ns, dur_ns, name, tid, wait IS NULL FROM critical_path(7)";
        assert_eq!(query(&bytes, sql), ["10|10|o|34|true", "20|30|o||false", "50|10|o|34|true"]);
        let error = try_query(&bytes, "SELECT * FROM critical_path(8)").unwrap_err();
        assert!(format!("{error:#}").contains("no operation 8"), "{error:#}");
    }
}
