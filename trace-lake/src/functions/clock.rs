//! Conversion of times to other clocks.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{AsArray, Int64Array};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::exec_err;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use crate::directory::Clock;
use crate::subject::Subject;

#[derive(Debug)]
pub(super) struct ToClock {
    name: &'static str,
    clock: Clock,
    signature: Signature,
    subject: Subject,
}

impl ToClock {
    pub(super) fn new(name: &'static str, clock: Clock, subject: Subject) -> Self {
        let signature = Signature::exact(vec![DataType::Int64], Volatility::Immutable);
        Self { name, clock, signature, subject }
    }

    #[cfg(feature = "cluster")]
    pub(super) fn subject(&self) -> &Subject {
        &self.subject
    }
}

impl PartialEq for ToClock {
    fn eq(&self, other: &Self) -> bool {
        self.clock == other.clock && self.subject == other.subject
    }
}

impl Eq for ToClock {}

impl Hash for ToClock {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.clock.hash(state);
    }
}

impl ScalarUDFImpl for ToClock {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let convert = self.subject.converter(self.clock)?;
        let arrays = ColumnarValue::values_to_arrays(&call.args)?;
        let [times] = &arrays[..] else { return exec_err!("{} has one argument", self.name) };
        let times = times.as_primitive::<Int64Type>().iter();
        let converted = times.map(|time| convert(time?));
        Ok(ColumnarValue::Array(Arc::new(converted.collect::<Int64Array>())))
    }
}

#[cfg(test)]
mod tests {
    use trace_format::layout::InstantScope;
    use trace_format::{Argument, Event, EventKind, Record, Thread, Value};

    use crate::testing::{archive, complete, query, THREAD};

    #[test]
    fn times_are_converted_by_clock_anchors() {
        let clocks = [
            Argument::new("realtime_ns", Value::Uint64(1_700_000_000_000_000_000)),
            Argument::new("monotonic_ns", Value::Uint64(5_000)),
            Argument::new("boottime_ns", Value::Uint64(6_000)),
        ];
        let anchor = Record::Event(Event {
            ticks: 100,
            thread: Thread::Inline(THREAD),
            category: "trace".into(),
            name: "clock anchor".into(),
            kind: EventKind::Instant { scope: Some(InstantScope::Global) },
            arguments: (&clocks[..]).into(),
        });
        let bytes = archive(&[anchor, complete("a", 150, 160)]);
        let sql = "SELECT to_realtime(start_ns), to_monotonic(start_ns), to_boottime(start_ns), \
            to_realtime(NULL) FROM spans";
        assert_eq!(query(&bytes, sql), ["1700000000000000050|5050|6050|"]);
        let none = archive(&[complete("a", 150, 160)]);
        assert_eq!(query(&none, "SELECT to_realtime(start_ns) FROM spans"), [""]);
    }
}
