//! Tables of a store for the engine.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;

use super::names;
use super::prune;
use super::snapshot::Snapshot;
use super::state::FileEntry;
use super::url::url_of;
use crate::columns::{column, schema as schema_of, Column, Kind};
use crate::tables::Table;

/// The columns that files have after those of their table.
pub const FILE_COLUMNS: [Column; 2] = [
    column("archive", Kind::Text, "the id of the archive: archives.archive"),
    column("version", Kind::Text, "the version of the program, or NULL if unknown"),
];

/// The columns that the folders of files have.
pub const FOLDER_COLUMNS: [Column; 3] = [
    column("day", Kind::Text, "the day in UTC on which the archive starts, as `2026-11-29`"),
    column("host", Kind::Text, "the host"),
    column("service", Kind::Text, "the service"),
];

/// A table of a store.
#[derive(Debug)]
pub(crate) struct StoreTable {
    snapshot: Arc<Snapshot>,
    table: &'static Table,
    columns: TableSchema,
}

/// Returns the columns of a table of a store.
pub(super) fn columns(table: &Table) -> TableSchema {
    let of_file = schema_of(table.columns.iter().chain(&FILE_COLUMNS));
    let field = |it: &Column| -> FieldRef { Arc::new(Field::new(it.name, DataType::Utf8, false)) };
    let of_folder: Vec<FieldRef> = FOLDER_COLUMNS.iter().map(field).collect();
    TableSchema::builder(of_file).with_table_partition_cols(of_folder).build()
}

/// Adds tables of a store to a session.
pub(crate) fn register<'a>(
    context: &SessionContext,
    snapshot: &Arc<Snapshot>,
    tables: impl IntoIterator<Item = &'a &'static Table>,
) -> Result<()> {
    let url = url_of(snapshot.store.name())?;
    context.register_object_store(url.as_ref(), snapshot.store.objects().clone());
    for table in tables {
        let (snapshot, columns) = (snapshot.clone(), columns(table));
        let provider = StoreTable { snapshot, table, columns };
        context.register_table(table.name, Arc::new(provider))?;
    }
    Ok(())
}

impl StoreTable {
    fn file(&self, entry: &FileEntry) -> PartitionedFile {
        let partition = &entry.partition;
        let values = [&partition.day, &partition.host, &partition.service];
        let mut file = PartitionedFile::new(String::new(), entry.bytes);
        file.object_meta.location = names::path(&entry.path);
        file.with_partition_values(values.map(|value| (&**value).into()).to_vec())
    }
}

#[async_trait]
impl TableProvider for StoreTable {
    fn schema(&self) -> SchemaRef {
        self.columns.table_schema().clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (schema, time) = (self.columns.table_schema(), self.table.time);
        let files = self.snapshot.state.of_table(self.table.name).collect();
        let files = prune::needed(files, time, schema, filters, state)?;
        if files.is_empty() {
            let all = || (0..schema.fields().len()).collect();
            let schema: Schema = schema.project(&projection.cloned().unwrap_or_else(all))?;
            return Ok(Arc::new(EmptyExec::new(Arc::new(schema))));
        }
        let group: FileGroup = files.into_iter().map(|file| self.file(file)).collect();
        let groups = group.split_files(state.config().target_partitions());
        let readers = Arc::new(self.snapshot.readers());
        let source = ParquetSource::new(self.columns.clone());
        let source = source.with_parquet_file_reader_factory(readers);
        let url = url_of(self.snapshot.store.name())?;
        let config = FileScanConfigBuilder::new(url, Arc::new(source))
            .with_file_groups(groups)
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .build();
        Ok(DataSourceExec::from_data_source(config))
    }
}
