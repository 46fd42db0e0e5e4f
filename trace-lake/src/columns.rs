//! The columns of tables.

use std::sync::Arc;

use datafusion::arrow::array::MapFieldNames;
use datafusion::arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};

/// A column.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Its meaning, with the unit.
    pub about: &'static str,
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `BIGINT`.
    Int,
    /// `BIGINT UNSIGNED`.
    Unsigned,
    /// `DOUBLE`.
    Real,
    /// `BOOLEAN`.
    Bool,
    /// `VARCHAR`.
    Text,
    /// `MAP(VARCHAR, VARCHAR)`.
    Args,
}

impl Kind {
    /// Returns its name in SQL.
    #[must_use]
    pub fn sql(self) -> &'static str {
        match self {
            Self::Int => "BIGINT",
            Self::Unsigned => "BIGINT UNSIGNED",
            Self::Real => "DOUBLE",
            Self::Bool => "BOOLEAN",
            Self::Text => "VARCHAR",
            Self::Args => "MAP(VARCHAR, VARCHAR)",
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Int => DataType::Int64,
            Self::Unsigned => DataType::UInt64,
            Self::Real => DataType::Float64,
            Self::Bool => DataType::Boolean,
            Self::Text => DataType::Utf8,
            Self::Args => {
                let names = map_field_names();
                let key = Field::new(names.key, DataType::Utf8, false);
                let value = Field::new(names.value, DataType::Utf8, true);
                let entry = DataType::Struct(Fields::from(vec![key, value]));
                DataType::Map(Arc::new(Field::new(names.entry, entry, false)), false)
            }
        }
    }
}

/// Returns the names of the parts of a map, those of Parquet.
pub(crate) fn map_field_names() -> MapFieldNames {
    MapFieldNames { entry: "entries".into(), key: "key".into(), value: "value".into() }
}

/// Creates a column.
pub(crate) const fn column(name: &'static str, kind: Kind, about: &'static str) -> Column {
    Column { name, kind, about }
}

/// Returns the schema of columns.
pub(crate) fn schema<'a>(columns: impl IntoIterator<Item = &'a Column>) -> SchemaRef {
    let field = |column: &Column| Field::new(column.name, column.kind.data_type(), true);
    Arc::new(Schema::new(columns.into_iter().map(field).collect::<Vec<_>>()))
}

/// Returns the schema of the projected columns.
pub(crate) fn projected(columns: &[Column], projection: &[usize]) -> SchemaRef {
    schema(projection.iter().map(|column| &columns[*column]))
}
