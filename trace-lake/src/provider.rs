//! Tables of an archive for the engine.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use datafusion::physical_plan::ExecutionPlan;

use crate::archive::Archive;
use crate::nesting;
use crate::scan::RecordScan;
use crate::source::Source;
use crate::tables::Table;
use crate::time_range::TimeRange;

/// A table of an archive.
#[derive(Debug)]
pub(crate) struct ArchiveTable {
    archive: Arc<Archive>,
    table: &'static Table,
    schema: SchemaRef,
}

impl ArchiveTable {
    pub(crate) fn new(archive: Arc<Archive>, table: &'static Table) -> Self {
        Self { archive, table, schema: table.schema() }
    }
}

#[async_trait]
impl TableProvider for ArchiveTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let is_used =
            |filter: &Expr| self.table.time.is_some_and(|column| TimeRange::is_of(column, filter));
        let support = |filter: &&Expr| match is_used(filter) {
            true => TableProviderFilterPushDown::Inexact,
            false => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(support).collect())
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let all = || (0..self.table.columns.len()).collect();
        let projection = projection.cloned().unwrap_or_else(all);
        let range = self.table.time.map_or(TimeRange::ALL, |time| TimeRange::of(time, filters));
        let archive = self.archive.clone();
        let partition: Arc<dyn PartitionStream> = match &self.table.source {
            Source::Records(_) | Source::Directory(_) => {
                Arc::new(RecordScan::new(archive, self.table, projection, range))
            }
            Source::Events(events) => {
                nesting::partition(archive, self.table, *events, &projection, range)?
            }
        };
        let schema = partition.schema().clone();
        let scan = StreamingTableExec::try_new(schema, vec![partition], None, [], false, limit)?;
        Ok(Arc::new(scan))
    }
}
