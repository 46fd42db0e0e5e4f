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

/// The bytes of texts that have room in a new column.
const TEXT_BYTES: usize = 8 * BATCH_ROWS;

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
    /// The columns of the table that are projected.
    projection: Vec<usize>,
    /// The column of the next value.
    next: usize,
    count: usize,
    /// The bytes of texts.
    bytes: usize,
}

/// The place of a value in a row.
pub(crate) struct Cell<'a> {
    builder: &'a mut Builder,
    bytes: &'a mut usize,
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
            Kind::Int => Self::Int(Int64Builder::with_capacity(BATCH_ROWS)),
            Kind::Unsigned => Self::Unsigned(UInt64Builder::with_capacity(BATCH_ROWS)),
            Kind::Real => Self::Real(Float64Builder::with_capacity(BATCH_ROWS)),
            Kind::Bool => Self::Bool(BooleanBuilder::with_capacity(BATCH_ROWS)),
            Kind::Text => Self::Text(StringBuilder::with_capacity(BATCH_ROWS, TEXT_BYTES)),
            Kind::Args => {
                let (keys, values) = (StringBuilder::new(), StringBuilder::new());
                let names = Some(columns::map_field_names());
                Self::Args(Box::new(MapBuilder::new(names, keys, values)))
            }
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Int(_) => Kind::Int,
            Self::Unsigned(_) => Kind::Unsigned,
            Self::Real(_) => Kind::Real,
            Self::Bool(_) => Kind::Bool,
            Self::Text(_) => Kind::Text,
            Self::Args(_) => Kind::Args,
        }
    }

    /// Returns the values, and starts again. A builder that is used again would have to grow.
    fn take(&mut self) -> ArrayRef {
        let next = Self::new(self.kind());
        match &mut std::mem::replace(self, next) {
            Self::Int(builder) => Arc::new(builder.finish()),
            Self::Unsigned(builder) => Arc::new(builder.finish()),
            Self::Real(builder) => Arc::new(builder.finish()),
            Self::Bool(builder) => Arc::new(builder.finish()),
            Self::Text(builder) => Arc::new(builder.finish()),
            Self::Args(builder) => Arc::new(builder.finish()),
        }
    }
}

/// Values of another type than that of the column are ignored.
impl Cell<'_> {
    #[inline]
    pub(crate) fn int(&mut self, value: impl Into<Option<i64>>) {
        if let Builder::Int(builder) = self.builder {
            builder.append_option(value.into());
        }
    }

    #[inline]
    pub(crate) fn unsigned(&mut self, value: impl Into<Option<u64>>) {
        if let Builder::Unsigned(builder) = self.builder {
            builder.append_option(value.into());
        }
    }

    pub(crate) fn real(&mut self, value: impl Into<Option<f64>>) {
        if let Builder::Real(builder) = self.builder {
            builder.append_option(value.into());
        }
    }

    pub(crate) fn bool(&mut self, value: impl Into<Option<bool>>) {
        if let Builder::Bool(builder) = self.builder {
            builder.append_option(value.into());
        }
    }

    #[inline]
    pub(crate) fn text<'t>(&mut self, value: impl Into<Option<&'t str>>) {
        let value = value.into();
        if let Builder::Text(builder) = self.builder {
            builder.append_option(value);
            *self.bytes += value.map_or(0, str::len);
        }
    }

    pub(crate) fn args(&mut self, arguments: &[Argument]) {
        if let Builder::Args(builder) = self.builder {
            for argument in arguments {
                let text = argument.value.text();
                *self.bytes += argument.key.len() + text.as_ref().map_or(0, String::len);
                builder.keys().append_value(&argument.key);
                builder.values().append_option(text);
            }
            // It fails only if keys and values differ in number.
            let _ = builder.append(true);
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
        let projection = projection.to_vec();
        Self { schema, places, builders, projection, next: 0, count: 0, bytes: 0 }
    }

    /// Returns whether a column is projected.
    pub(crate) fn has(&self, column: usize) -> bool {
        self.places.get(column).copied().flatten().is_some()
    }

    /// Adds the value of the next column.
    #[inline]
    fn next(&mut self, value: impl FnOnce(&mut Cell<'_>)) {
        let place = self.places.get(self.next).copied().flatten();
        self.next += 1;
        if let Some(builder) = place.and_then(|place| self.builders.get_mut(place)) {
            value(&mut Cell { builder, bytes: &mut self.bytes });
        }
    }

    pub(crate) fn int(&mut self, value: impl Into<Option<i64>>) {
        self.next(|cell| cell.int(value));
    }

    pub(crate) fn unsigned(&mut self, value: impl Into<Option<u64>>) {
        self.next(|cell| cell.unsigned(value));
    }

    pub(crate) fn real(&mut self, value: impl Into<Option<f64>>) {
        self.next(|cell| cell.real(value));
    }

    pub(crate) fn bool(&mut self, value: impl Into<Option<bool>>) {
        self.next(|cell| cell.bool(value));
    }

    pub(crate) fn text<'a>(&mut self, value: impl Into<Option<&'a str>>) {
        self.next(|cell| cell.text(value));
    }

    /// Adds a row, with the value that `value` adds for each projected column of the table, by
    /// number. Returns a batch if it is full.
    #[inline]
    pub(crate) fn row(
        &mut self,
        mut value: impl FnMut(usize, &mut Cell<'_>),
    ) -> Result<Option<RecordBatch>, ArrowError> {
        for (column, builder) in self.projection.iter().zip(&mut self.builders) {
            value(*column, &mut Cell { builder, bytes: &mut self.bytes });
        }
        self.count_row()
    }

    /// Ends a row, and returns a batch if it is full.
    pub(crate) fn end(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        debug_assert_eq!(self.next, self.places.len(), "each column has a value");
        self.next = 0;
        self.count_row()
    }

    #[inline]
    fn count_row(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
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
        let arrays = self.builders.iter_mut().map(Builder::take).collect();
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
