//! The files of a table that can have rows of a query, by their partitions and times.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, Int64Array, StringArray, UInt64Array};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::Expr;
use datafusion::physical_optimizer::pruning::PruningPredicateBuilder;

use super::state::{FileEntry, Partition};

/// Returns the files that the filters of a query do not exclude. `time` is the column with the
/// times of the rows.
pub(super) fn needed<'a>(
    files: Vec<&'a FileEntry>,
    time: Option<&str>,
    schema: &SchemaRef,
    filters: &[Expr],
    state: &dyn Session,
) -> Result<Vec<&'a FileEntry>> {
    let Some(filter) = conjunction(filters.iter().cloned()) else { return Ok(files) };
    let columns = DFSchema::try_from(schema.clone())?;
    let filter = state.create_physical_expr(filter, &columns)?;
    let predicate = PruningPredicateBuilder::new().with_file_schema(schema.clone());
    let predicate = predicate.try_build(filter)?;
    let kept = predicate.prune(&Known { files: &files, time })?;
    Ok(files.into_iter().zip(kept).filter(|(_, is_kept)| *is_kept).map(|(file, _)| file).collect())
}

/// What is known of files without reading them.
struct Known<'a> {
    files: &'a [&'a FileEntry],
    time: Option<&'a str>,
}

impl Known<'_> {
    fn texts(&self, column: &str) -> Option<ArrayRef> {
        let value: fn(&Partition) -> &str = match column {
            "day" => |it| &it.day,
            "host" => |it| &it.host,
            "service" => |it| &it.service,
            _ => return None,
        };
        let values = self.files.iter().map(|file| Some(value(&file.partition)));
        Some(Arc::new(values.collect::<StringArray>()))
    }

    fn values(&self, column: &str, time: impl Fn((i64, i64)) -> i64) -> Option<ArrayRef> {
        if self.time != Some(column) {
            return self.texts(column);
        }
        let times = self.files.iter().map(|file| file.times.map(&time));
        Some(Arc::new(times.collect::<Int64Array>()))
    }
}

impl PruningStatistics for Known<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        self.values(&column.name, |(first, _)| first)
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        self.values(&column.name, |(_, last)| last)
    }

    fn num_containers(&self) -> usize {
        self.files.len()
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        self.texts(&column.name)?;
        Some(Arc::new(UInt64Array::from(vec![0; self.files.len()])))
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        let rows = self.files.iter().map(|file| file.rows);
        Some(Arc::new(UInt64Array::from_iter_values(rows)))
    }

    fn contained(&self, _: &Column, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::{col, lit, SessionContext};

    use super::*;
    use crate::store::state::tests::{file, partition};
    use crate::store::table::columns;
    use crate::tables::TABLES;

    #[test]
    fn files_are_excluded_by_partition_and_time() {
        let mut early = file("early", Some((10, 20)));
        early.partition = Partition { host: "other".to_owned(), ..partition("2026-11-28") };
        let late = file("late", Some((30, 40)));
        let spans = TABLES[0];
        let names = |filters: &[Expr]| {
            let state = SessionContext::new().state();
            let files = vec![&early, &late];
            let kept =
                needed(files, spans.time, columns(spans).table_schema(), filters, &state).unwrap();
            kept.into_iter().map(|file| &*file.path).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(&[]), "early late");
        assert_eq!(names(&[col("name").eq(lit("x"))]), "early late");
        assert_eq!(names(&[col("day").eq(lit("2026-11-28"))]), "early");
        assert_eq!(names(&[col("day").gt_eq(lit("2026-11-29"))]), "late");
        assert_eq!(names(&[col("host").in_list(vec![lit("x"), lit("other")], false)]), "early");
        assert_eq!(names(&[col("service").not_eq(lit("s"))]), "");
        assert_eq!(names(&[col("start_ns").between(lit(20_i64), lit(29_i64))]), "early");
        let either = col("start_ns").lt(lit(15_i64)).or(col("day").eq(lit("2026-11-29")));
        assert_eq!(names(&[either]), "early late");
        assert_eq!(names(&[col("start_ns").gt(lit(20_i64)), col("host").eq(lit("other"))]), "");
    }
}
