//! Rows of a table while they are made: one Arrow array for each projected column.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BooleanBuilder, Float64Builder, Int64Builder, MapBuilder, RecordBatch,
    RecordBatchOptions, StringBuilder, UInt64Builder,
};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;

use crate::arguments::Argument;
use crate::columns::{self, Column, Kind};

/// The most rows of a batch.
const BATCH_ROWS: usize = 8192;

/// The bytes of texts with which a batch ends. A row can have megabytes of arguments.
const BATCH_BYTES: usize = 8 << 20;

/// Rows that are not yet a batch. A row's values are added in the order of the table's columns;
/// those of other columns than the projected ones are ignored.
pub(crate) struct Rows {
    schema: SchemaRef,
    /// The place of each column of the table among the projected ones.
    places: Vec<Option<usize>>,
    builders: Vec<Builder>,
    /// The column of the next value.
    next: usize,
    count: usize,
    /// The bytes of texts.
    bytes: usize,
}

enum Builder {
    Int(Int64Builder),
    Unsigned(UInt64Builder),
    Real(Float64Builder),
    Bool(BooleanBuilder),
    Text(StringBuilder),
    Args(Box<MapBuilder<StringBuilder, StringBuilder>>),
}

impl Builder {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Int => Self::Int(Int64Builder::new()),
            Kind::Unsigned => Self::Unsigned(UInt64Builder::new()),
            Kind::Real => Self::Real(Float64Builder::new()),
            Kind::Bool => Self::Bool(BooleanBuilder::new()),
            Kind::Text => Self::Text(StringBuilder::new()),
            Kind::Args => {
                let (keys, values) = (StringBuilder::new(), StringBuilder::new());
                let names = Some(columns::map_field_names());
                Self::Args(Box::new(MapBuilder::new(names, keys, values)))
            }
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Int(builder) => Arc::new(builder.finish()),
            Self::Unsigned(builder) => Arc::new(builder.finish()),
            Self::Real(builder) => Arc::new(builder.finish()),
            Self::Bool(builder) => Arc::new(builder.finish()),
            Self::Text(builder) => Arc::new(builder.finish()),
            Self::Args(builder) => Arc::new(builder.finish()),
        }
    }
}

impl Rows {
    /// Starts rows of these columns of a table, by number. `schema` has the same columns.
    pub(crate) fn new(columns: &[Column], projection: &[usize], schema: SchemaRef) -> Self {
        let mut places = vec![None; columns.len()];
        let mut builders = Vec::new();
        for (place, column) in projection.iter().enumerate() {
            places[*column] = Some(place);
            builders.push(Builder::new(columns[*column].kind));
        }
        Self { schema, places, builders, next: 0, count: 0, bytes: 0 }
    }

    /// Returns whether a column is projected.
    pub(crate) fn has(&self, column: usize) -> bool {
        self.places.get(column).copied().flatten().is_some()
    }

    fn next(&mut self) -> Option<&mut Builder> {
        let place = self.places.get(self.next).copied().flatten();
        self.next += 1;
        self.builders.get_mut(place?)
    }

    pub(crate) fn int(&mut self, value: impl Into<Option<i64>>) {
        if let Some(Builder::Int(builder)) = self.next() {
            builder.append_option(value.into());
        }
    }

    pub(crate) fn unsigned(&mut self, value: impl Into<Option<u64>>) {
        if let Some(Builder::Unsigned(builder)) = self.next() {
            builder.append_option(value.into());
        }
    }

    pub(crate) fn real(&mut self, value: impl Into<Option<f64>>) {
        if let Some(Builder::Real(builder)) = self.next() {
            builder.append_option(value.into());
        }
    }

    pub(crate) fn bool(&mut self, value: impl Into<Option<bool>>) {
        if let Some(Builder::Bool(builder)) = self.next() {
            builder.append_option(value.into());
        }
    }

    pub(crate) fn text<'a>(&mut self, value: impl Into<Option<&'a str>>) {
        let value = value.into();
        if let Some(Builder::Text(builder)) = self.next() {
            builder.append_option(value);
            self.bytes += value.map_or(0, str::len);
        }
    }

    pub(crate) fn args(&mut self, arguments: &[Argument]) {
        if let Some(Builder::Args(builder)) = self.next() {
            let mut bytes = 0;
            for argument in arguments {
                let text = argument.value.text();
                bytes += argument.key.len() + text.as_ref().map_or(0, String::len);
                builder.keys().append_value(&argument.key);
                builder.values().append_option(text);
            }
            // It fails only if keys and values differ in number.
            let _ = builder.append(true);
            self.bytes += bytes;
        }
    }

    /// Ends a row, and returns a batch if it is full.
    pub(crate) fn end(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        debug_assert_eq!(self.next, self.places.len(), "each column has a value");
        self.next = 0;
        self.count += 1;
        match self.count < BATCH_ROWS && self.bytes < BATCH_BYTES {
            true => Ok(None),
            false => self.finish().map(Some),
        }
    }

    /// Returns the number of rows that are not yet returned.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Returns the rows so far.
    pub(crate) fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        let arrays = self.builders.iter_mut().map(Builder::finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.count));
        (self.count, self.bytes) = (0, 0);
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::{column, schema};

    #[test]
    fn a_batch_ends_with_its_rows_or_its_bytes() {
        let columns = [column("text", Kind::Text, "a text")];
        let rows_of_a_batch = |text: &str| {
            let mut rows = Rows::new(&columns, &[0], schema(&columns));
            loop {
                rows.text(text);
                if let Some(batch) = rows.end().unwrap() {
                    return batch.num_rows();
                }
            }
        };
        assert_eq!(rows_of_a_batch("x"), 8192);
        assert_eq!(rows_of_a_batch(&"x".repeat(1 << 20)), 8);
        assert_eq!(rows_of_a_batch(&"x".repeat(9 << 20)), 1);
    }
}
