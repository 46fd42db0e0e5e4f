//! Arguments as debug annotations.

use data_encoding::HEXLOWER;
use trace_format::{Arguments, Item, Value};

use super::exporter::PerfettoExporter;
use super::message::{AnnotationValue, DebugAnnotation};
use super::packets::Use;

/// The maximum size of a blob, in bytes.
const MAX_BLOB_BYTES: usize = 16 << 20;

impl PerfettoExporter {
    /// Returns the arguments of a record.
    #[inline]
    pub(super) fn annotations<'a>(
        &mut self,
        item: &Item<'a>,
        arguments: &Arguments<'a>,
    ) -> Vec<DebugAnnotation> {
        let mut annotations = Vec::new();
        for argument in arguments {
            annotations.push(DebugAnnotation {
                name_iid: Some(self.string(Use::Annotation, item, argument.name)),
                value: Some(annotation_value(item, argument.value)),
                ..DebugAnnotation::default()
            });
            if let Some(name) = self.objects.name(item, argument.value) {
                let key = format!("{} name", item.text(argument.name));
                annotations.push(string(&key, name));
            }
        }
        annotations
    }
}

fn annotation_value<'a>(item: &Item<'a>, value: Value<'a>) -> AnnotationValue {
    match value {
        Value::Null => AnnotationValue::String("null".to_owned()),
        Value::Int32(value) => AnnotationValue::Int(value.into()),
        Value::Uint32(value) => AnnotationValue::Uint(value.into()),
        Value::Int64(value) => AnnotationValue::Int(value),
        Value::Uint64(value) | Value::Koid(value) => unsigned(value),
        Value::Double(value) if value.is_finite() => AnnotationValue::Double(value),
        Value::Double(value) => AnnotationValue::String(value.to_string()),
        Value::String(value) => AnnotationValue::String(item.text(value).into_owned()),
        Value::Pointer(value) => AnnotationValue::Pointer(value),
        Value::Bool(value) => AnnotationValue::Bool(value),
        Value::Blob(value) => AnnotationValue::String(HEXLOWER.encode(value)),
    }
}

fn unsigned(value: u64) -> AnnotationValue {
    match i64::try_from(value) {
        Ok(_) => AnnotationValue::Uint(value),
        Err(_) => AnnotationValue::String(value.to_string()),
    }
}

/// Returns an annotation that is not an argument of the record.
pub(super) fn annotation(name: &str, value: AnnotationValue) -> DebugAnnotation {
    let (name, value) = (Some(name.to_owned()), Some(value));
    DebugAnnotation { name, value, ..DebugAnnotation::default() }
}

/// Returns a number as an annotation.
pub(super) fn number(name: &str, value: u64) -> DebugAnnotation {
    annotation(name, unsigned(value))
}

/// Returns a pointer, or a number in base 16, as an annotation.
pub(super) fn pointer(name: &str, value: u64) -> DebugAnnotation {
    annotation(name, AnnotationValue::Pointer(value))
}

/// Returns a string as an annotation.
pub(super) fn string(name: &str, value: impl Into<String>) -> DebugAnnotation {
    annotation(name, AnnotationValue::String(value.into()))
}

/// Returns the annotations of a blob's payload.
pub(super) fn bytes(payload: &[u8]) -> [DebugAnnotation; 2] {
    let start = payload.get(..MAX_BLOB_BYTES).unwrap_or(payload);
    [number("size", payload.len() as u64), string("blob", HEXLOWER.encode(start))]
}

/// Returns a list of addresses as an annotation.
pub(super) fn addresses(name: &str, list: impl Iterator<Item = u64>) -> DebugAnnotation {
    array(name, list.map(AnnotationValue::Pointer))
}

/// Returns a list of strings as an annotation.
pub(super) fn strings<'a>(name: &str, list: impl Iterator<Item = &'a str>) -> DebugAnnotation {
    array(name, list.map(|text| AnnotationValue::String(text.to_owned())))
}

fn array(name: &str, values: impl Iterator<Item = AnnotationValue>) -> DebugAnnotation {
    let entry = |value| DebugAnnotation { value: Some(value), ..DebugAnnotation::default() };
    let (name, array_values) = (Some(name.to_owned()), values.map(entry).collect());
    DebugAnnotation { name, array_values, ..DebugAnnotation::default() }
}
