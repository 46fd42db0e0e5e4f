//! Cells as text.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, MapArray, RecordBatch, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::util::display::array_value_to_string;
use serde_json::{Map, Value};

/// Returns a batch in which columns of maps, lists and other nested types are text.
pub(super) fn batch(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        if !field.data_type().is_nested() {
            fields.push(field.clone());
            columns.push(column.clone());
            continue;
        }
        let text: ArrayRef = Arc::new(texts(column)?);
        fields.push(Arc::new(Field::new(field.name(), DataType::Utf8, true)));
        columns.push(text);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}

fn texts(column: &ArrayRef) -> Result<StringArray, ArrowError> {
    (0..column.len()).map(|row| cell(column, row)).collect()
}

/// Returns a cell as text, or `None` if it is null. A map of texts is JSON.
pub(super) fn cell(column: &ArrayRef, row: usize) -> Result<Option<String>, ArrowError> {
    if column.is_null(row) {
        return Ok(None);
    }
    if let Some(map) = column.as_map_opt() {
        if let Some(object) = object(map, row)? {
            return Ok(Some(Value::Object(object).to_string()));
        }
    }
    array_value_to_string(column, row).map(Some)
}

fn object(map: &MapArray, row: usize) -> Result<Option<Map<String, Value>>, ArrowError> {
    let entries = map.value(row);
    let text = |column: &ArrayRef| cast(column, &DataType::Utf8);
    let (Ok(keys), Ok(values)) = (text(entries.column(0)), text(entries.column(1))) else {
        return Ok(None);
    };
    let (keys, values) = (keys.as_string::<i32>(), values.as_string::<i32>());
    let value = |value: Option<&str>| value.map_or(Value::Null, Value::from);
    let pairs = keys.iter().zip(values.iter());
    let pairs = pairs.map(|(key, it)| (key.unwrap_or_default().to_owned(), value(it)));
    Ok(Some(pairs.collect()))
}
