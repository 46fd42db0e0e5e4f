//! Running the statements of a text.

use anyhow::Result;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;

use crate::message::HINT;
use crate::output::Output;
use crate::session::QuerySession;
use crate::usage::UsageError;

/// Runs statements, and writes the results of those that have one. Returns whether one had.
///
/// # Errors
///
/// A statement is wrong, or it or writing its result failed. If the output is a file and several
/// statements have a result, nothing runs.
pub async fn run(session: &QuerySession, output: &Output, sql: &str) -> Result<bool> {
    let statements = match session.statements(sql) {
        Ok(statements) => statements,
        Err(error) => return Err(session.explain(error, sql).await),
    };
    if let Some(path) = &output.path {
        let results = statements.iter().filter(|statement| has_result(statement)).count();
        if results > 1 {
            return Err(UsageError(format!(
                "cannot write the results of {results} statements to one file, {}{HINT}\
                 write each to a file of its own, or all to standard output without -o",
                path.display()
            ))
            .into());
        }
    }
    let mut is_written = false;
    for statement in statements {
        let frame = match session.frame(statement).await {
            Ok(frame) => frame,
            Err(error) => return Err(session.explain(error, sql).await),
        };
        if frame.schema().fields().is_empty() {
            continue;
        }
        match output.write(frame).await.map_err(anyhow::Error::downcast) {
            Ok(()) => {}
            Err(Ok(error)) => return Err(session.explain(error, sql).await),
            Err(Err(error)) => return Err(error),
        }
        is_written = true;
    }
    Ok(is_written)
}

/// Returns whether a statement has a result. Definitions have none.
fn has_result(statement: &Statement) -> bool {
    match statement {
        Statement::Statement(statement) => !matches!(
            **statement,
            ast::Statement::CreateView(_)
                | ast::Statement::CreateTable(_)
                | ast::Statement::CreateSchema { .. }
                | ast::Statement::Drop { .. }
                | ast::Statement::Set(_)
        ),
        Statement::CreateExternalTable(_) | Statement::Reset(_) => false,
        Statement::CopyTo(_) | Statement::Explain(_) => true,
    }
}
