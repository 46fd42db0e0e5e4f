//! The overlap of two intervals. One without an end lasts until the last time of the archive. In a
//! store its archive is unknown, and so is the overlap.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{AsArray, BooleanArray, Int64Array};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::exec_err;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use crate::subject::Subject;

#[derive(Debug)]
pub(super) struct Overlap {
    /// Whether the result is only whether there is any.
    is_test: bool,
    signature: Signature,
    subject: Subject,
}

impl Overlap {
    pub(super) fn nanos(subject: Subject) -> Self {
        Self::new(false, subject)
    }

    pub(super) fn is_any(subject: Subject) -> Self {
        Self::new(true, subject)
    }

    fn new(is_test: bool, subject: Subject) -> Self {
        let signature = Signature::exact(vec![DataType::Int64; 4], Volatility::Immutable);
        Self { is_test, signature, subject }
    }

    #[cfg(feature = "cluster")]
    pub(super) fn subject(&self) -> &Subject {
        &self.subject
    }
}

impl PartialEq for Overlap {
    fn eq(&self, other: &Self) -> bool {
        self.is_test == other.is_test && self.subject == other.subject
    }
}

impl Eq for Overlap {}

impl Hash for Overlap {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.is_test.hash(state);
    }
}

impl ScalarUDFImpl for Overlap {
    fn name(&self) -> &str {
        if self.is_test {
            "overlaps"
        } else {
            "overlap_ns"
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(if self.is_test { DataType::Boolean } else { DataType::Int64 })
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&call.args)?;
        let columns: Vec<&Int64Array> =
            arrays.iter().map(|array| array.as_primitive::<Int64Type>()).collect();
        let [starts, durs, other_starts, other_durs] = columns[..] else {
            return exec_err!("{} has four arguments", self.name());
        };
        let extent = match self.subject {
            Subject::Archive(_) => self.subject.extent()?,
            Subject::Store(_) | Subject::Named(_) => None,
        };
        let last = extent.map(|(_, last)| last);
        let first = starts.iter().zip(durs).map(|pair| interval(pair, last));
        let other = other_starts.iter().zip(other_durs).map(|pair| interval(pair, last));
        let shared = first.zip(other).map(|(first, other)| shared(first?, other?));
        Ok(ColumnarValue::Array(match self.is_test {
            true => Arc::new(shared.map(|it| it.map(|it| it > 0)).collect::<BooleanArray>()),
            false => Arc::new(shared.collect::<Int64Array>()),
        }))
    }
}

/// Returns the begin and the end of an interval.
fn interval((start, dur): (Option<i64>, Option<i64>), last: Option<i64>) -> Option<(i64, i64)> {
    let start = start?;
    let end = match dur.filter(|dur| *dur >= 0) {
        Some(dur) => start.saturating_add(dur),
        None => last?,
    };
    Some((start, end))
}

fn shared(first: (i64, i64), other: (i64, i64)) -> Option<i64> {
    Some(first.1.min(other.1).saturating_sub(first.0.max(other.0)).max(0))
}

#[cfg(test)]
mod tests {
    use crate::testing::{archive, complete, query};

    #[test]
    fn the_shared_time_of_intervals() {
        let sql = "SELECT overlap_ns(0, 10, 5, 10), overlap_ns(0, 5, 5, 5), \
            overlap_ns(NULL, 1, 0, 8), overlaps(0, 5, 5, 5), overlaps(0, 6, 5, 5)";
        assert_eq!(query(&archive(&[]), sql), ["5|0||false|true"]);
    }

    #[test]
    fn an_interval_without_an_end_lasts_until_that_of_the_archive() {
        let sql = "SELECT overlap_ns(3, NULL, 0, 8), overlap_ns(3, -1, 4, NULL), \
            overlap_ns(30, NULL, 30, NULL), overlaps(3, NULL, 4, -1), overlaps(30, -1, 30, -1)";
        assert_eq!(query(&archive(&[complete("a", 0, 20)]), sql), ["5|16|0|true|false"]);
        let none = "SELECT overlap_ns(3, NULL, 0, 8), overlap_ns(3, 5, 0, 8)";
        assert_eq!(query(&archive(&[]), none), ["|5"]);
    }
}
