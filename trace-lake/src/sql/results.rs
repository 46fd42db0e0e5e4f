//! Names of the columns of results.
//!
//! Formats such as JSON require that they differ. The engine's names of columns have the table
//! beside them: `a.name` and `b.name` are both `name` in a file.

use std::collections::HashSet;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};

use super::names::unused;
use super::rewrite::MARK;

/// Names the columns of a plan's result, each one in its own way. That of a definition is what it
/// defines.
pub(crate) fn named(plan: LogicalPlan) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Ddl(_)
        | LogicalPlan::Copy(_)
        | LogicalPlan::Explain(_)
        | LogicalPlan::Analyze(_) => {
            Ok(plan.map_children(|it| named(it).map(Transformed::yes))?.data)
        }
        plan => of_query(plan),
    }
}

fn of_query(plan: LogicalPlan) -> Result<LogicalPlan> {
    let columns = plan.schema().columns();
    let shown = columns.iter().map(|column| column.name.trim_end_matches(MARK).to_owned());
    let names = distinct(shown.collect());
    if columns.iter().map(|column| &column.name).eq(&names) {
        return Ok(plan);
    }
    let columns = columns.into_iter().zip(names).map(|(column, name)| {
        let is_same = column.name == name;
        let column = Expr::Column(column);
        if is_same {
            column
        } else {
            column.alias(name)
        }
    });
    LogicalPlanBuilder::from(plan).project(columns.collect::<Vec<_>>())?.build()
}

/// Returns names of which the second and later equal ones have a number.
fn distinct(names: Vec<String>) -> Vec<String> {
    let mut taken: HashSet<String> = names.iter().cloned().collect();
    let mut seen = HashSet::new();
    let distinct = names.into_iter().map(|name| match seen.insert(name.clone()) {
        true => name,
        false => unused(&name, &mut taken),
    });
    distinct.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session;
    use crate::subject::Subject;
    use crate::testing::{archive, complete, opened};

    /// Returns the names of the columns of the last statement.
    fn columns(sql: &str) -> Vec<String> {
        let bytes = archive(&[complete("a", 1, 3), complete("b", 3, 6)]);
        let (_file, archive) = opened(&bytes).unwrap();
        let subject = Subject::Archive(archive);
        session::runtime().unwrap().block_on(async {
            let session = session::session(&subject, session::DEFAULT_MEMORY).await.unwrap();
            let mut names = Vec::new();
            for statement in session.statements(sql).unwrap() {
                let frame = session.frame(statement).await.unwrap();
                let schema = frame.execute_stream().await.unwrap().schema();
                names = schema.fields().iter().map(|field| field.name().clone()).collect();
            }
            names
        })
    }

    #[test]
    fn columns_of_joins_have_different_names() {
        let sql =
            "SELECT a.name, b.name, a.dur_ns AS name_1 FROM spans a JOIN spans b ON a.id = b.id";
        assert_eq!(columns(sql), ["name", "name_2", "name_1"]);
        let sql = "SELECT name, sum(dur) AS dur FROM slice GROUP BY name ORDER BY sum(dur)";
        assert_eq!(columns(sql), ["name", "dur"]);
        for sql in [
            "SELECT * FROM slice JOIN thread_track ON slice.track_id = thread_track.id",
            "SELECT a.*, b.* FROM spans a JOIN spans b ON a.id = b.id ORDER BY b.name",
            "CREATE VIEW v AS SELECT a.*, b.* FROM spans a JOIN spans b ON a.id = b.id; SELECT * FROM v",
        ] {
            let names = columns(sql);
            assert!(names.contains(&"id".to_owned()) && names.contains(&"id_1".to_owned()), "{sql}");
            let different: HashSet<&String> = names.iter().collect();
            assert_eq!(different.len(), names.len(), "{sql}");
        }
    }
}
