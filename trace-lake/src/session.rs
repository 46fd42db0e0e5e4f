//! Sessions: the tables, views and functions of an archive.

use std::sync::Arc;

use datafusion::dataframe::DataFrame;
use datafusion::error::Result;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::Statement;

use crate::archive::Archive;
use crate::provider::ArchiveTable;
use crate::tables::TABLES;
use crate::{functions, sql, views};

/// The memory of sorts, joins and groups in bytes by default. Beyond it they use temporary files,
/// or the query fails.
pub const DEFAULT_MEMORY: usize = 1 << 30;

/// The stack of threads of the engine: plans are nested, and so are the calls that make them.
const STACK_BYTES: usize = 8 << 20;

/// Returns threads that run queries.
///
/// # Errors
///
/// Threads cannot be started.
pub fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().thread_stack_size(STACK_BYTES).enable_all().build()
}

/// The tables of an archive, in which queries run.
#[derive(Clone)]
pub struct Session {
    context: SessionContext,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

/// Returns a session with the tables of an archive.
///
/// # Errors
///
/// The engine cannot be started.
pub async fn session(archive: &Arc<Archive>, memory: usize) -> Result<Session> {
    let pool = Arc::new(FairSpillPool::new(memory));
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(pool).build_arc()?;
    let mut config = SessionConfig::new().with_information_schema(true);
    let parser = &mut config.options_mut().sql_parser;
    parser.collect_spans = true;
    // Results have the types that the documentation of tables has.
    parser.map_string_types_to_utf8view = false;
    let context = SessionContext::new_with_config_rt(config, runtime);
    for table in TABLES {
        let provider = ArchiveTable::new(archive.clone(), table);
        context.register_table(table.name, Arc::new(provider))?;
    }
    functions::register(&context, archive);
    let session = Session { context };
    for view in views::VIEWS {
        session.run(view.sql).await?;
    }
    Ok(session)
}

impl Session {
    /// Returns the engine.
    #[must_use]
    pub fn context(&self) -> &SessionContext {
        &self.context
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
        self.context.execute_logical_plan(plan).await
    }

    /// Runs statements that have no result.
    async fn run(&self, sql: &str) -> Result<()> {
        for statement in self.statements(sql)? {
            self.frame(statement).await?;
        }
        Ok(())
    }
}
