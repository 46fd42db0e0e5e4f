//! `arg(args, 'key')`

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, StringBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::exec_err;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

/// Returns the value of a key in a map of texts.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Arg {
    signature: Signature,
}

impl Arg {
    pub(super) fn new() -> Self {
        Self { signature: Signature::any(2, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Arg {
    fn name(&self) -> &str {
        "arg"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [map, DataType::Utf8 | DataType::Utf8View | DataType::Null] if is_of_texts(map) => {
                Ok(DataType::Utf8)
            }
            _ => exec_err!("arg has the map `args` and a key, as in arg(args, 'key')"),
        }
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&call.args)?;
        let [maps, keys] = &arrays[..] else { return exec_err!("arg has two arguments") };
        let keys = datafusion::arrow::compute::cast(keys, &DataType::Utf8)?;
        let (maps, keys) = (maps.as_map(), keys.as_string::<i32>());
        let (names, values) = (maps.keys().as_string::<i32>(), maps.values().as_string::<i32>());
        let mut found = StringBuilder::new();
        for row in 0..maps.len() {
            let range = maps.value_offsets()[row] as usize..maps.value_offsets()[row + 1] as usize;
            let is_known = maps.is_valid(row) && keys.is_valid(row);
            let mut places = range.filter(|_| is_known);
            let place = places.find(|place| names.value(*place) == keys.value(row));
            found.append_option(place.filter(|it| values.is_valid(*it)).map(|it| values.value(it)));
        }
        Ok(ColumnarValue::Array(Arc::new(found.finish())))
    }
}

/// Returns whether a type is that of the columns `args`.
fn is_of_texts(map: &DataType) -> bool {
    let DataType::Map(entries, _) = map else { return false };
    let DataType::Struct(fields) = entries.data_type() else { return false };
    fields.len() == 2 && fields.iter().all(|field| *field.data_type() == DataType::Utf8)
}

#[cfg(test)]
mod tests {
    use trace_format::{Argument, EventKind, Value};

    use crate::testing::{archive, event, query, try_query};

    #[test]
    fn a_key_has_its_value() {
        let arguments = [Argument::new("a", Value::Int32(1)), Argument::new("n", Value::Null)];
        let kind = EventKind::Instant { scope: None };
        let bytes = archive(&[event("x", 1, kind, &arguments), event("y", 2, kind, &[])]);
        let sql = "SELECT name, arg(args, 'a'), arg(args, 'n'), arg(args, 'b') FROM instants";
        assert_eq!(query(&bytes, sql), ["x|1||", "y|||"]);
        for other in ["arg(name, 'a')", "arg(MAP {'a': 1}, 'a')", "arg(MAP {1: 'a'}, 'a')"] {
            let error = try_query(&bytes, &format!("SELECT {other} FROM instants")).unwrap_err();
            assert!(error.to_string().contains("arg has the map `args`"), "{error}");
        }
        let made = "SELECT arg(MAP {'a': 'x'}, 'a'), arg(args, NULL) FROM instants";
        assert_eq!(query(&bytes, made), ["x|", "x|"]);
    }
}
