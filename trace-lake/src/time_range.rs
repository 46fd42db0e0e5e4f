//! The range of time that the filters of a query leave.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};

/// A range of time in nanoseconds; both ends are in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeRange {
    pub(crate) from: i64,
    pub(crate) to: i64,
}

impl TimeRange {
    pub(crate) const ALL: Self = Self { from: i64::MIN, to: i64::MAX };

    /// Returns the range that filters on a column of times leave. Other filters are ignored.
    pub(crate) fn of(column: &str, filters: &[Expr]) -> Self {
        let ranges = filters.iter().filter_map(|filter| Self::of_filter(column, filter));
        ranges.fold(Self::ALL, Self::intersect)
    }

    /// Returns whether a filter limits the column.
    pub(crate) fn is_of(column: &str, filter: &Expr) -> bool {
        Self::of_filter(column, filter).is_some()
    }

    pub(crate) fn has(self, nanos: i64) -> bool {
        self.from <= nanos && nanos <= self.to
    }

    fn intersect(self, other: Self) -> Self {
        Self { from: self.from.max(other.from), to: self.to.min(other.to) }
    }

    fn of_filter(column: &str, filter: &Expr) -> Option<Self> {
        match filter {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
                Some(Self::of_filter(column, left)?.intersect(Self::of_filter(column, right)?))
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_column(column, left) => {
                Self::compared(*op, nanos(right)?)
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_column(column, right) => {
                Self::compared(op.swap()?, nanos(left)?)
            }
            Expr::Between(Between { expr, negated: false, low, high })
                if is_column(column, expr) =>
            {
                Some(Self { from: nanos(low)?, to: nanos(high)? })
            }
            _ => None,
        }
    }

    fn compared(op: Operator, nanos: i64) -> Option<Self> {
        Some(match op {
            Operator::Eq => Self { from: nanos, to: nanos },
            Operator::Gt => Self { from: nanos.saturating_add(1), ..Self::ALL },
            Operator::GtEq => Self { from: nanos, ..Self::ALL },
            Operator::Lt => Self { to: nanos.saturating_sub(1), ..Self::ALL },
            Operator::LtEq => Self { to: nanos, ..Self::ALL },
            _ => return None,
        })
    }
}

fn is_column(name: &str, expression: &Expr) -> bool {
    matches!(expression, Expr::Column(column) if column.name == name)
}

fn nanos(expression: &Expr) -> Option<i64> {
    match expression {
        Expr::Literal(ScalarValue::Int64(value), _) => *value,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::{col, lit};

    use super::*;

    #[test]
    fn comparisons_with_literals_limit_the_range() {
        let range = |filters: &[Expr]| {
            let range = TimeRange::of("t", filters);
            (range.from, range.to)
        };
        let (low, high) = (lit(5_i64), lit(9_i64));
        let all = (i64::MIN, i64::MAX);
        assert_eq!(range(&[]), all);
        assert_eq!(range(&[col("u").gt(low.clone())]), all);
        assert_eq!(range(&[col("t").gt(low.clone()), col("t").lt(high.clone())]), (6, 8));
        assert_eq!(range(&[low.clone().lt_eq(col("t"))]), (5, i64::MAX));
        assert_eq!(range(&[col("t").between(low.clone(), high.clone())]), (5, 9));
        assert_eq!(range(&[col("t").eq(low.clone())]), (5, 5));
        assert_eq!(range(&[col("t").not_between(low, high)]), all);
    }
}
