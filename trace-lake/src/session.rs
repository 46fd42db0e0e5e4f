//! Sessions: the tables, views and functions of an archive or a store.

use std::sync::Arc;

use datafusion::common::internal_err;
use datafusion::dataframe::DataFrame;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::Statement;

pub use crate::memory::DEFAULT_MEMORY;
use crate::provider::ArchiveTable;
use crate::report::error_of_query;
use crate::store::verify::verify;
use crate::store::{check, table};
use crate::subject::Subject;
use crate::tables::{Table, TABLES};
use crate::{functions, sql, views};

/// The stack of threads of the engine: plans are nested, and so are the calls that make them.
const STACK_BYTES: usize = 64 << 20;

/// Returns threads that run queries.
///
/// # Errors
///
/// Threads cannot be started.
pub fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().thread_stack_size(STACK_BYTES).enable_all().build()
}

/// The tables of an archive or a store, in which queries run.
#[derive(Clone)]
pub struct QuerySession {
    context: SessionContext,
    subject: Subject,
}

impl std::fmt::Debug for QuerySession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QuerySession").finish_non_exhaustive()
    }
}

/// Returns a session with the tables of an archive or a store. Sorts, joins and groups use up to
/// `memory` bytes.
///
/// # Errors
///
/// The engine cannot be started.
pub async fn session(subject: &Subject, memory: usize) -> Result<QuerySession> {
    let context = tables(subject, memory)?;
    functions::register(&context, subject);
    let session = QuerySession { context, subject: subject.clone() };
    for view in views::VIEWS {
        session.run(view.sql).await?;
    }
    Ok(session)
}

/// Returns the engine with the tables alone, without views and functions.
///
/// # Errors
///
/// The engine cannot be started.
pub(crate) fn tables(subject: &Subject, memory: usize) -> Result<SessionContext> {
    let pool = Arc::new(FairSpillPool::new(memory));
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(pool).build_arc()?;
    let mut config = SessionConfig::new().with_information_schema(true);
    let parser = &mut config.options_mut().sql_parser;
    parser.collect_spans = true;
    // Results have the types that the documentation of tables has.
    parser.map_string_types_to_utf8view = false;
    // As in SQLite, which Perfetto's queries are for: durations of open spans are not the longest.
    parser.default_null_ordering = "nulls_min".to_owned();
    let context = SessionContext::new_with_config_rt(config, runtime);
    match subject {
        Subject::Archive(archive) => {
            for table in TABLES {
                let provider = ArchiveTable::new(archive.clone(), table);
                context.register_table(table.name, Arc::new(provider))?;
            }
        }
        Subject::Store(snapshot) => table::register(&context, snapshot, &TABLES)?,
        Subject::Named(_) => return internal_err!("the content of the store is unknown"),
    }
    Ok(context)
}

impl QuerySession {
    /// Returns the engine.
    #[must_use]
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// Returns this session with another engine, which gets the functions.
    #[cfg(feature = "cluster")]
    pub(crate) fn with_context(self, context: SessionContext) -> Self {
        functions::register(&context, &self.subject);
        Self { context, ..self }
    }

    /// Returns whether the session is of a store.
    pub(crate) fn is_of_store(&self) -> bool {
        !matches!(self.subject, Subject::Archive(_))
    }

    /// Plans the statements of a text.
    ///
    /// # Errors
    ///
    /// The text is not SQL.
    pub fn statements(&self, sql: &str) -> Result<Vec<Statement>> {
        Ok(sql::statements(sql)?.into())
    }

    /// Returns the result of a statement. Queries run when the result is read, other statements at
    /// once.
    ///
    /// # Errors
    ///
    /// The statement names what does not exist, or is wrong in another way.
    pub async fn frame(&self, statement: Statement) -> Result<DataFrame> {
        let plan = self.context.state().statement_to_plan(statement).await?;
        self.context.execute_logical_plan(sql::named(plan)?).await
    }

    /// Returns the message of a query that failed, with the place in its text if that is known. If
    /// a file of a store cannot be decoded, it has the file's name.
    pub(crate) async fn explain(&self, error: DataFusionError, sql: &str) -> anyhow::Error {
        let is_of_file = check::is_of_file(&error);
        let error = error_of_query(error, sql);
        let Subject::Store(snapshot) = &self.subject else { return error };
        if !is_of_file {
            return error;
        }
        match check::damaged(&snapshot.readers(), &error.to_string()).await {
            None => error,
            Some(damaged) => anyhow::anyhow!("cannot decode {damaged}: {error}"),
        }
    }

    /// Fails if a file of a table in a store is damaged.
    pub(crate) async fn verify(&self, table: &Table) -> anyhow::Result<()> {
        let Subject::Store(snapshot) = &self.subject else { return Ok(()) };
        for file in snapshot.state.of_table(table.name) {
            verify(&snapshot.store, file).await?;
        }
        Ok(())
    }

    /// Runs statements that have no result.
    pub(crate) async fn run(&self, sql: &str) -> Result<()> {
        for statement in self.statements(sql)? {
            self.frame(statement).await?;
        }
        Ok(())
    }
}
