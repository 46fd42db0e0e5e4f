//! Attributes.

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};

use super::rows::Argument;

/// Returns an attribute.
pub(super) fn attribute(key: impl Into<String>, value: Option<Value>) -> KeyValue {
    KeyValue { key: key.into(), value: Some(AnyValue { value }), ..KeyValue::default() }
}

/// Returns an attribute with a text.
pub(super) fn text(key: &str, value: &str) -> KeyValue {
    attribute(key, Some(Value::StringValue(value.to_owned())))
}

/// Returns an attribute with a number. Numbers beyond 63 bits are texts.
pub(super) fn number(key: &str, value: u64) -> KeyValue {
    let value = match i64::try_from(value) {
        Ok(value) => Value::IntValue(value),
        Err(_) => Value::StringValue(value.to_string()),
    };
    attribute(key, Some(value))
}

/// Returns the attribute of an argument, with its type where OTLP has it.
pub(super) fn of_argument(argument: &Argument<'_>) -> KeyValue {
    let as_text = || Value::StringValue(argument.text.to_owned());
    let value = match argument.kind {
        "null" => None,
        "bool" => Some(Value::BoolValue(argument.int == Some(1))),
        "real" => Some(argument.real.map_or_else(as_text, Value::DoubleValue)),
        // Those of 64 bits are negative as `int`.
        "uint" | "koid" => Some(argument.text.parse().map_or_else(|_| as_text(), Value::IntValue)),
        "int" => Some(argument.int.map_or_else(as_text, Value::IntValue)),
        _ => Some(as_text()),
    };
    attribute(argument.key, value)
}
