//! `extract_arg(arg_set_id, 'key')`, of Perfetto.
//!
//! The arguments of a key are read at the first call with it, and kept: the memory is that of the
//! values of one key. In a store it counts as memory of the session. Their type in Perfetto is that
//! of each value, which a column here cannot have, so they are text.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::array::{Array, AsArray, StringBuilder};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::exec_err;
use datafusion::error::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use crate::subject::Subject;

/// The prefixes of keys in Perfetto's tables.
const PREFIXES: [&str; 2] = ["args.", "debug."];

/// The values of a key, by the id of their span, instant, operation or flow event.
#[derive(Debug)]
struct KeyValues {
    texts: HashMap<i64, Option<String>>,
    /// Their memory.
    _memory: MemoryReservation,
}

type Values = Arc<KeyValues>;

#[derive(Debug)]
pub(super) struct ExtractArg {
    signature: Signature,
    subject: Subject,
    keys: Mutex<HashMap<String, Values>>,
    pool: Arc<dyn MemoryPool>,
}

impl ExtractArg {
    pub(super) fn new(subject: Subject, pool: Arc<dyn MemoryPool>) -> Self {
        let types = vec![DataType::Int64, DataType::Utf8];
        let signature = Signature::exact(types, Volatility::Immutable);
        Self { signature, subject, keys: Mutex::default(), pool }
    }

    /// Returns the values of a key. Other threads of the engine go on while this one reads, or
    /// waits for one that does.
    fn values(&self, key: &str) -> Result<Values> {
        tokio::task::block_in_place(|| self.read_or_known(key))
    }

    fn read_or_known(&self, key: &str) -> Result<Values> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(values) = keys.get(key) {
            return Ok(values.clone());
        }
        let plain = PREFIXES.iter().find_map(|prefix| key.strip_prefix(prefix));
        let memory = MemoryConsumer::new("extract_arg").register(&self.pool);
        let mut texts = self.subject.values_of(key, &memory)?;
        if texts.is_empty() {
            if let Some(plain) = plain {
                texts = self.subject.values_of(plain, &memory)?;
            }
        }
        let values = Arc::new(KeyValues { texts, _memory: memory });
        keys.insert(key.to_owned(), values.clone());
        Ok(values)
    }

    #[cfg(feature = "cluster")]
    pub(super) fn subject(&self) -> &Subject {
        &self.subject
    }
}

impl PartialEq for ExtractArg {
    fn eq(&self, other: &Self) -> bool {
        self.subject == other.subject
    }
}

impl Eq for ExtractArg {}

impl Hash for ExtractArg {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.subject.hash(state);
    }
}

impl ScalarUDFImpl for ExtractArg {
    fn name(&self) -> &str {
        "extract_arg"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&call.args)?;
        let [ids, keys] = &arrays[..] else { return exec_err!("extract_arg has two arguments") };
        let (ids, keys) = (ids.as_primitive::<Int64Type>(), keys.as_string::<i32>());
        let mut found = StringBuilder::new();
        let mut last: Option<(&str, Values)> = None;
        for row in 0..ids.len() {
            if ids.is_null(row) || keys.is_null(row) {
                found.append_null();
                continue;
            }
            let key = keys.value(row);
            let values = match last.take() {
                Some((last, values)) if last == key => values,
                _ => self.values(key)?,
            };
            found.append_option(values.texts.get(&ids.value(row)).cloned().flatten());
            last = Some((key, values));
        }
        Ok(ColumnarValue::Array(Arc::new(found.finish())))
    }
}

#[cfg(test)]
mod tests {
    use trace_format::{Argument, EventKind, Value};

    use crate::testing::{archive, event, query};

    #[test]
    fn arguments_of_slices_are_found_with_and_without_a_prefix() {
        let arguments = [Argument::new("url", Value::String("/a".into()))];
        let complete = EventKind::DurationComplete { end: 9 };
        let bytes = archive(&[event("x", 1, complete, &arguments), event("y", 2, complete, &[])]);
        let sql =
            "SELECT name, extract_arg(arg_set_id, 'url'), EXTRACT_ARG(arg_set_id, 'debug.url'), \
            extract_arg(arg_set_id, 'other') FROM slice ORDER BY ts";
        assert_eq!(query(&bytes, sql), ["x|/a|/a|", "y|||"]);
        let sql = "SELECT name FROM slice WHERE extract_arg(arg_set_id, 'url') = '/a'";
        assert_eq!(query(&bytes, sql), ["x"]);
    }
}
