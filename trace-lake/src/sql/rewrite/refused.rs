//! What the engine accepts and computes wrongly.

use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::sql::sqlparser::ast::{
    JoinConstraint, JoinOperator, SetExpr, SetOperator, SetQuantifier, TableFactor, TableWithJoins,
};

/// Fails if a query has such a part. Queries in it are not looked at.
pub(super) fn check(body: &SetExpr) -> Result<()> {
    match body {
        SetExpr::Select(select) => select.from.iter().try_for_each(joins),
        SetExpr::SetOperation { op, set_quantifier, left, right } => {
            let is_all = matches!(set_quantifier, SetQuantifier::All | SetQuantifier::AllByName);
            if is_all && *op != SetOperator::Union {
                // Equal rows are all kept, or all left out.
                return plan_err!(
                    "{op} ALL is not supported: leave ALL out, or make equal rows different with \
                     row_number()"
                );
            }
            check(left)?;
            check(right)
        }
        _ => Ok(()),
    }
}

fn joins(table: &TableWithJoins) -> Result<()> {
    nested(&table.relation)?;
    for join in &table.joins {
        nested(&join.relation)?;
        let constraint = match &join.join_operator {
            JoinOperator::Right(it)
            | JoinOperator::RightOuter(it)
            | JoinOperator::FullOuter(it) => it,
            _ => continue,
        };
        if matches!(constraint, JoinConstraint::Using(_) | JoinConstraint::Natural) {
            // The joined column would be that of the left side, without the rows of the right one.
            return plan_err!(
                "RIGHT and FULL joins with USING or NATURAL are not supported: use \
                 `ON a.x = b.x`, and `coalesce(a.x, b.x)` for the column"
            );
        }
    }
    Ok(())
}

fn nested(table: &TableFactor) -> Result<()> {
    match table {
        TableFactor::NestedJoin { table_with_joins, .. } => joins(table_with_joins),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::sql::statements;

    #[test]
    fn wrong_joins_and_set_operations_are_refused() {
        for sql in [
            "SELECT * FROM a RIGHT JOIN b USING (x)",
            "SELECT * FROM a NATURAL FULL JOIN b",
            "SELECT 1 WHERE 1 IN (SELECT x FROM c JOIN (a FULL JOIN b USING (x)) ON c.y = a.y)",
            "SELECT x FROM a EXCEPT ALL SELECT x FROM b",
            "WITH t AS (SELECT x FROM a UNION (SELECT x FROM a INTERSECT ALL SELECT 1)) SELECT 1",
        ] {
            let error = statements(sql).unwrap_err().to_string();
            assert!(error.contains("not supported"), "{error}");
        }
        for sql in [
            "SELECT * FROM a LEFT JOIN b USING (x)",
            "SELECT * FROM a FULL JOIN b ON a.x = b.x",
            "SELECT x FROM a EXCEPT SELECT x FROM b UNION ALL SELECT 1",
        ] {
            assert_eq!(statements(sql).unwrap().len(), 1);
        }
    }
}
