//! Perfetto's module `time.conversion`: nanoseconds in other units, as integers.

use datafusion::sql::sqlparser::ast::{BinaryOperator, CastKind, DataType, Expr, Value};

/// The units, with their nanoseconds.
const UNITS: [(&str, &str); 7] = [
    ("ns", "1"),
    ("us", "1000"),
    ("ms", "1000000"),
    ("s", "1000000000"),
    ("min", "60000000000"),
    ("hours", "3600000000000"),
    ("days", "86400000000000"),
];

/// Returns the replacement of a function such as `time_to_ms` or `time_from_ms`.
pub(super) fn of(name: &str, time: &Expr) -> Option<Expr> {
    let (unit, op) = match (name.strip_prefix("time_to_"), name.strip_prefix("time_from_")) {
        (Some(unit), _) => (unit, BinaryOperator::Divide),
        (_, Some(unit)) => (unit, BinaryOperator::Multiply),
        _ => return None,
    };
    let (_, nanos) = UNITS.into_iter().find(|(known, _)| *known == unit)?;
    let left = Box::new(cast(time));
    let right = Box::new(Expr::value(Value::Number(nanos.to_owned(), false)));
    Some(Expr::Nested(Box::new(Expr::BinaryOp { left, op, right })))
}

/// Returns a time as an integer.
fn cast(time: &Expr) -> Expr {
    let (kind, expr, data_type) = (CastKind::Cast, Box::new(time.clone()), DataType::BigInt(None));
    Expr::Cast { kind, expr, data_type, array: false, format: None }
}
