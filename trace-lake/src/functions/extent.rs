//! `trace_start()`, `trace_end()` and `trace_dur()`, of Perfetto.

use std::hash::{Hash, Hasher};

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use crate::subject::Subject;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Bound {
    Start,
    End,
    Length,
}

impl Bound {
    pub(super) const ALL: [Self; 3] = [Self::Start, Self::End, Self::Length];
}

#[derive(Debug)]
pub(super) struct Extent {
    bound: Bound,
    signature: Signature,
    subject: Subject,
}

impl Extent {
    pub(super) fn new(bound: Bound, subject: Subject) -> Self {
        Self { bound, signature: Signature::nullary(Volatility::Immutable), subject }
    }

    #[cfg(feature = "cluster")]
    pub(super) fn subject(&self) -> &Subject {
        &self.subject
    }
}

impl PartialEq for Extent {
    fn eq(&self, other: &Self) -> bool {
        self.bound == other.bound && self.subject == other.subject
    }
}

impl Eq for Extent {}

impl Hash for Extent {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bound.hash(state);
    }
}

impl ScalarUDFImpl for Extent {
    fn name(&self) -> &str {
        match self.bound {
            Bound::Start => "trace_start",
            Bound::End => "trace_end",
            Bound::Length => "trace_dur",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, _call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let extent = self.subject.extent()?;
        let value = extent.map(|(start, end)| match self.bound {
            Bound::Start => start,
            Bound::End => end,
            Bound::Length => end.saturating_sub(start),
        });
        Ok(ColumnarValue::Scalar(ScalarValue::Int64(value)))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{archive, complete, query};

    #[test]
    fn the_extent_is_that_of_all_records() {
        let bytes = archive(&[complete("a", 150, 160), complete("b", 100, 120)]);
        let sql = "SELECT trace_start(), trace_end(), trace_dur()";
        assert_eq!(query(&bytes, sql), ["100|160|60"]);
    }
}
