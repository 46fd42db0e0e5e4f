//! The interactive shell.

mod completion;
mod describe;

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{bail, Context, Result};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};
use tokio::runtime::Runtime;

use crate::message::{self, say};
use crate::output::Output;
use crate::session::QuerySession;
use crate::{queries, statements};
use completion::Helper;

const HELP: &str = "\
Statements end with a semicolon, and can have several lines. @NAME runs a ready query.
  .tables           list tables and views
  .schema [NAME]    columns of all tables, or of one, with types and units
  .functions        functions of traces
  .queries          ready queries
  .help             this text
  .quit             leave the shell, as Ctrl-D
";

/// The answer to a statement after a result was written to the file of `-o`.
const FULL: &str = "the output file has a result already, which another one would replace\n\
    hint: start another shell, with another file or without -o";

/// The most lines of the history.
const MAX_HISTORY: usize = 10_000;

/// What a line asks for.
#[derive(Debug, PartialEq, Eq)]
enum Line<'a> {
    Nothing,
    /// A statement is not complete.
    More,
    Quit,
    Text(String),
    /// What is wrong with a line.
    Wrong(String),
    Sql(&'a str),
}

/// Reads statements and runs them, until the end of the input.
///
/// # Errors
///
/// The terminal cannot be read. Errors of statements are printed.
pub fn run(
    session: &QuerySession,
    output: &Output,
    runtime: &Runtime,
    archive: &Path,
) -> Result<()> {
    let config = Config::builder().max_history_size(MAX_HISTORY)?.auto_add_history(false).build();
    let mut editor: Editor<Helper, FileHistory> = Editor::with_config(config)?;
    editor.set_helper(Some(Helper::new()));
    let history = history_file();
    if let Some(history) = &history {
        // The first shell has none.
        let _ = editor.load_history(history);
    }
    message::tell(&format!("{}: .help for help, .quit to leave", archive.display()));
    let result = read_lines(&mut editor, session, output, runtime);
    if let Some(history) = &history {
        if let Some(folder) = history.parent() {
            let _ = std::fs::create_dir_all(folder);
        }
        // A shell without a history is better than none.
        let _ = editor.save_history(history);
    }
    result
}

fn read_lines(
    editor: &mut Editor<Helper, FileHistory>,
    session: &QuerySession,
    output: &Output,
    runtime: &Runtime,
) -> Result<()> {
    let mut text = String::new();
    // Whether the file for results has one.
    let mut is_full = false;
    loop {
        let prompt = if text.is_empty() { "trace> " } else { "   ..> " };
        match editor.readline(prompt) {
            Ok(line) => {
                text.push_str(&line);
                text.push('\n');
            }
            Err(ReadlineError::Interrupted) => {
                text.clear();
                continue;
            }
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(error).context("cannot read the terminal"),
        }
        match interpret(&text) {
            Line::More => continue,
            Line::Quit => return Ok(()),
            Line::Nothing => {}
            Line::Text(answer) | Line::Wrong(answer) => message::answer(&answer)?,
            Line::Sql(_) if is_full => say(FULL),
            Line::Sql(sql) => match runtime.block_on(statements::run(session, output, sql)) {
                Ok(is_written) => is_full = is_written && output.path.is_some(),
                Err(error) => say(&message::describe(error.as_ref())),
            },
        }
        editor.add_history_entry(text.trim())?;
        text.clear();
    }
}

/// Returns the answer to a text of commands such as `.schema`, one a line, or `None` if it has
/// other lines.
///
/// # Errors
///
/// A command or its table is unknown.
pub(crate) fn answer(text: &str) -> Option<Result<String>> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    if lines().next().is_none() || !lines().all(|line| line.starts_with('.')) {
        return None;
    }
    let lines = lines().map(interpret).take_while(|line| !matches!(line, Line::Quit));
    let answers = lines.map(|line| match line {
        Line::Text(answer) => Ok(answer),
        Line::Wrong(error) => bail!("{}", error.trim_end()),
        _ => Ok(String::new()),
    });
    Some(answers.collect())
}

fn interpret(text: &str) -> Line<'_> {
    let text = text.trim();
    let mut words = text.split_whitespace();
    match words.next() {
        None => Line::Nothing,
        Some(".quit" | ".exit") => Line::Quit,
        Some(".help") => Line::Text(HELP.to_owned()),
        Some(".tables") => Line::Text(describe::tables()),
        Some(".schema") => match describe::schema(words.next()) {
            Ok(schema) => Line::Text(schema),
            Err(error) => Line::Wrong(error),
        },
        Some(".functions") => Line::Text(describe::functions()),
        Some(".queries") => Line::Text(queries::list()),
        Some(command) if command.starts_with('.') => {
            Line::Wrong(format!("unknown command {command}: .help lists them\n"))
        }
        Some(name) if name.starts_with('@') => match queries::resolve(name.trim_end_matches(';')) {
            Ok(_) if words.any(|word| word != ";") => {
                Line::Wrong(format!("{name} is a query by itself: enter others after it\n"))
            }
            Ok(sql) => Line::Sql(sql),
            Err(error) => Line::Wrong(format!("{error}\n")),
        },
        Some(_) if text.ends_with(';') => Line::Sql(text),
        Some(_) => Line::More,
    }
}

/// Returns the file of the history.
fn history_file() -> Option<PathBuf> {
    let state = env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".local/state"));
    Some(state.filter(|state| state.is_absolute()).or_else(home)?.join("trace/query-history"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_with_a_semicolon() {
        assert_eq!(interpret("\n"), Line::Nothing);
        assert_eq!(interpret("SELECT 1\n"), Line::More);
        assert_eq!(interpret("SELECT\n1;\n"), Line::Sql("SELECT\n1;"));
        assert!(matches!(interpret("@hottest\n"), Line::Sql(sql) if sql.contains("self_ns")));
        assert!(matches!(interpret("@x\n"), Line::Wrong(text) if text.contains("no ready query")));
    }

    #[test]
    fn commands_describe_what_can_be_asked() {
        let text = |line: &str| match interpret(line) {
            Line::Text(text) | Line::Wrong(text) => text,
            other => panic!("{other:?}"),
        };
        assert!(text(".tables").contains("spans") && text(".tables").contains("thread_track"));
        assert!(text(".schema spans").contains("dur_ns"));
        assert!(!text(".schema spans").contains("waker_tid"));
        assert!(text(".schema").contains("waker_tid"));
        assert!(text(".schema nothing").contains("no table is named nothing"));
        assert!(text(".functions").contains("overlap_ns"));
        assert!(text(".queries").contains("@hottest"));
        assert!(text(".tabels").contains(".help lists them"));
        assert_eq!(interpret(".quit"), Line::Quit);
        let columns = answer(".queries\n\n.schema SPANS\n.quit").unwrap().unwrap();
        assert!(columns.contains("dur_ns"));
        assert!(answer(".schema\nSELECT 1").is_none() && answer("").is_none());
        for (text, expected) in [
            (".bogus", "unknown command .bogus: .help lists them"),
            (".tables\n.schema none", "no table is named none: .tables lists them"),
        ] {
            assert_eq!(answer(text).unwrap().unwrap_err().to_string(), expected);
        }
    }
}
