//! The program: arguments, what it runs, and its exit status.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Read};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use anyhow::{bail, Context, Result};
use clap::Parser;

use crate::archive::Archive;
use crate::cli::Cli;
use crate::exit::{FAILURE, OK, USAGE};
use crate::input::{Input, STANDARD};
use crate::lake::cli::{LakeCli, FLAG};
use crate::message::{answer, describe, say, HINT};
use crate::output::{refuse_same_file, write_file, Output};
use crate::store::place::is_store;
use crate::store::snapshot::Snapshot;
use crate::store::Store;
use crate::subject::Subject;
use crate::usage::UsageError;
use crate::{damage, export, lake, otlp, queries, session, shell, statements};

/// The stack of the thread that plans queries: a condition of many parts is nested as deeply.
const STACK_BYTES: usize = 256 << 20;

/// Runs the program.
#[must_use]
pub fn main() -> ExitCode {
    let thread = thread::Builder::new().name("trace-query".to_owned()).stack_size(STACK_BYTES);
    match thread.spawn(run_program).map(JoinHandle::join) {
        Ok(ended) => ended.unwrap_or_else(|panic| resume_unwind(panic)),
        Err(error) => {
            say(&format!("cannot start a thread: {error}"));
            FAILURE.into()
        }
    }
}

fn run_program() -> ExitCode {
    let mut arguments: Vec<OsString> = env::args_os().collect();
    let is_lake = arguments.get(1).is_some_and(|first| first == FLAG);
    let result = if is_lake {
        arguments.remove(1);
        LakeCli::try_parse_from(arguments).map(|cli| lake::run(&cli))
    } else {
        Cli::try_parse_from(arguments).map(|cli| run(&cli))
    };
    let result = match result {
        Ok(result) => result,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { USAGE } else { OK }.into();
        }
    };
    match result {
        Ok(code) => code.into(),
        Err(error) if is_broken_pipe(&error) => OK.into(),
        Err(error) => {
            say(&describe(error.as_ref()));
            if error.is::<UsageError>() { USAGE } else { FAILURE }.into()
        }
    }
}

fn run(cli: &Cli) -> Result<u8> {
    if cli.list {
        answer(&queries::list())?;
        return Ok(OK);
    }
    let Some(path) = &cli.archive else { return Ok(USAGE) };
    refuse_input_used_twice(cli, path)?;
    for output in outputs(cli) {
        refuse_same_file(path, &output)?;
    }
    let runtime = session::runtime().context("cannot start threads")?;
    let subject = match path.to_str().filter(|_| is_store(path)) {
        Some(name) => {
            let store = match &cli.cluster {
                Some(_) => Store::open_absolute(name)?,
                None => Store::open(name)?,
            };
            Subject::Store(Arc::new(runtime.block_on(Snapshot::newest(store))?))
        }
        None if path.is_dir() => bail!(
            "{0} is a directory{HINT}`trace lake add {0} ARCHIVE` makes it a store of archives",
            path.display()
        ),
        None if cli.cluster.is_some() => bail!(
            "{0} is not a store: --cluster runs queries of stores{HINT}`trace lake add STORE {0}` \
             adds it to one",
            path.display()
        ),
        None => {
            let input = Input::new(path, cli.instr_map.as_deref())?;
            Subject::Archive(Arc::new(Archive::new(input)))
        }
    };
    let memory = cli.memory.saturating_mul(1 << 20);
    let session = runtime.block_on(session(&subject, memory, cli.cluster.as_deref()))?;
    let path_of_result = cli.output.clone().filter(|path| path != Path::new(STANDARD));
    let output = Output { format: cli.format, path: path_of_result };
    match (&cli.export, &cli.otlp) {
        (Some(folder), _) => runtime.block_on(export::export(&session, folder))?,
        (None, Some(file)) => runtime.block_on(otlp::export(&session, file))?,
        (None, None) => match sql(cli)? {
            Some(text) => match shell::answer(&text) {
                Some(text) => write_answer(&output, &text?)?,
                None if text.trim().is_empty() => bail!("the query is empty"),
                None => drop(runtime.block_on(statements::run(&session, &output, &text))?),
            },
            None => shell::run(&session, &output, &runtime, path)?,
        },
    }
    Ok(match &subject {
        Subject::Archive(archive) => damage::warn(archive),
        Subject::Store(_) | Subject::Named(_) => OK,
    })
}

/// Writes the answer to a command where results go.
fn write_answer(output: &Output, text: &str) -> Result<()> {
    match &output.path {
        Some(path) => write_file(path, text.as_bytes()),
        None => Ok(answer(text)?),
    }
}

/// Returns a session, whose queries run on a cluster if a scheduler is given.
#[cfg(feature = "cluster")]
async fn session(
    subject: &Subject,
    memory: usize,
    scheduler: Option<&str>,
) -> Result<session::QuerySession> {
    let session = session::session(subject, memory).await?;
    match scheduler {
        Some(scheduler) => lake::cluster::attach(session, scheduler).await,
        None => Ok(session),
    }
}

#[cfg(not(feature = "cluster"))]
async fn session(
    subject: &Subject,
    memory: usize,
    scheduler: Option<&str>,
) -> Result<session::QuerySession> {
    match scheduler {
        Some(_) => Err(crate::message::no_cluster()),
        None => Ok(session::session(subject, memory).await?),
    }
}

/// Returns the files that are written.
fn outputs(cli: &Cli) -> Vec<PathBuf> {
    let exported = cli.export.as_deref().map(export::paths).into_iter().flatten();
    exported.chain(cli.output.clone()).chain(cli.otlp.clone()).collect()
}

/// Fails if standard input is both the archive and the query.
fn refuse_input_used_twice(cli: &Cli, archive: &Path) -> Result<(), UsageError> {
    let standard = Path::new(STANDARD);
    let is_elsewhere = cli.sql.is_some() || cli.export.is_some() || cli.otlp.is_some();
    if archive != standard || is_elsewhere || cli.file.as_deref().is_some_and(|it| it != standard) {
        return Ok(());
    }
    Err(UsageError(format!(
        "standard input cannot be both the archive and the query\
         {HINT}write the query as an argument, or read it from a file with -f"
    )))
}

/// Returns the statements to run, or `None` for a shell.
fn sql(cli: &Cli) -> Result<Option<String>> {
    let resolve =
        |text: &str| queries::resolve(text).map(str::to_owned).map_err(anyhow::Error::msg);
    match (&cli.sql, &cli.file) {
        (Some(text), _) => resolve(text).map(Some),
        (None, Some(file)) if file != Path::new(STANDARD) => {
            let text = std::fs::read_to_string(file);
            Ok(Some(text.with_context(|| format!("cannot read {}", file.display()))?))
        }
        (None, None) if io::stdin().is_terminal() => Ok(None),
        (None, _) => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
            Ok(Some(text))
        }
    }
}

/// Returns whether the reader of the output has closed it, as `head` does.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
