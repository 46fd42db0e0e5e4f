//! The rows of the query.

use anyhow::{anyhow, Result};
use datafusion::arrow::array::{
    Array, AsArray, BooleanArray, Float64Array, Int64Array, ListArray, RecordBatch, StringArray,
    StructArray, UInt64Array,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type, UInt64Type};

/// Rows of spans and operations.
pub(super) struct Rows {
    pub(super) id: Int64Array,
    pub(super) thread_id: Int64Array,
    pub(super) parent_id: Int64Array,
    pub(super) start_ns: Int64Array,
    pub(super) end_ns: Int64Array,
    pub(super) is_open: BooleanArray,
    pub(super) category: StringArray,
    pub(super) name: StringArray,
    pub(super) pid: UInt64Array,
    pub(super) tid: UInt64Array,
    pub(super) process: StringArray,
    pub(super) thread: StringArray,
    pub(super) operation_id: UInt64Array,
    pub(super) service: StringArray,
    pub(super) host: StringArray,
    pub(super) version: StringArray,
    arguments: ListArray,
}

/// The arguments of a row.
pub(super) struct Arguments(StructArray);

/// An argument.
pub(super) struct Argument<'a> {
    pub(super) key: &'a str,
    pub(super) kind: &'a str,
    pub(super) int: Option<i64>,
    pub(super) real: Option<f64>,
    pub(super) text: &'a str,
}

impl Rows {
    pub(super) fn of(batch: &RecordBatch) -> Result<Self> {
        let column = |name: &str, kind: DataType| {
            let column = batch.column_by_name(name);
            let column = column.ok_or_else(|| anyhow!("the result has no column {name}"))?;
            Ok::<_, anyhow::Error>(cast(column, &kind)?)
        };
        let int = |name| column(name, DataType::Int64);
        let unsigned = |name| column(name, DataType::UInt64);
        let text = |name| column(name, DataType::Utf8);
        let arguments = batch.column_by_name("list");
        let arguments = arguments.ok_or_else(|| anyhow!("the result has no arguments"))?;
        Ok(Self {
            id: int("id")?.as_primitive::<Int64Type>().clone(),
            thread_id: int("thread_id")?.as_primitive::<Int64Type>().clone(),
            parent_id: int("parent_id")?.as_primitive::<Int64Type>().clone(),
            start_ns: int("begin_ns")?.as_primitive::<Int64Type>().clone(),
            end_ns: int("end_ns")?.as_primitive::<Int64Type>().clone(),
            is_open: column("is_open", DataType::Boolean)?.as_boolean().clone(),
            category: text("category")?.as_string().clone(),
            name: text("name")?.as_string().clone(),
            pid: unsigned("pid")?.as_primitive::<UInt64Type>().clone(),
            tid: unsigned("tid")?.as_primitive::<UInt64Type>().clone(),
            process: text("process")?.as_string().clone(),
            thread: text("thread")?.as_string().clone(),
            operation_id: unsigned("operation_id")?.as_primitive::<UInt64Type>().clone(),
            service: text("service")?.as_string().clone(),
            host: text("host")?.as_string().clone(),
            version: text("version")?.as_string().clone(),
            arguments: arguments.as_list::<i32>().clone(),
        })
    }

    /// Returns the arguments of a row.
    pub(super) fn arguments(&self, row: usize) -> Option<Arguments> {
        let list = self.arguments.is_valid(row).then(|| self.arguments.value(row))?;
        Some(Arguments(list.as_struct().clone()))
    }
}

impl Arguments {
    pub(super) fn iter(&self) -> impl Iterator<Item = Argument<'_>> {
        let texts = |at: usize| self.0.column(at).as_string::<i32>();
        let ints: &Int64Array = self.0.column(2).as_primitive::<Int64Type>();
        let reals: &Float64Array = self.0.column(3).as_primitive::<Float64Type>();
        let (keys, kinds, values) = (texts(0), texts(1), texts(4));
        (0..self.0.len()).map(move |row| Argument {
            key: keys.value(row),
            kind: kinds.value(row),
            int: ints.is_valid(row).then(|| ints.value(row)),
            real: reals.is_valid(row).then(|| reals.value(row)),
            text: text(values, row).unwrap_or_default(),
        })
    }
}

/// Returns a text, or `None` for NULL.
pub(super) fn text(texts: &StringArray, row: usize) -> Option<&str> {
    texts.is_valid(row).then(|| texts.value(row))
}
