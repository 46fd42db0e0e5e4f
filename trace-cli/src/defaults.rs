//! Defaults of the user for `trace record`, from a configuration file.
//!
//! The table `[record]` has the long names of options as keys. Each value becomes the default of
//! its option, so that the command line wins, and `--help` shows it.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail, Context, Result};
use clap::{ArgAction, Command};
use toml::{Table, Value};

use crate::message::HINT;

/// The variable that names another file, or none if it is empty.
const VARIABLE: &str = "TRACE_CONFIG";

/// Sets the defaults of `trace record`. Other commands do not read the file.
pub(crate) fn apply(cli: Command, mut line: impl Iterator<Item = OsString>) -> Result<Command> {
    if line.nth(1).is_none_or(|command| command != "record") {
        return Ok(cli);
    }
    let Some(path) = path() else { return Ok(cli) };
    let settings = read(&path).with_context(|| format!("cannot use {}", path.display()))?;
    settings.into_iter().try_fold(cli, |cli, setting| {
        set(cli, &setting).with_context(|| format!("cannot use {}", path.display()))
    })
}

/// Returns the default of an option of `trace record`, if a file sets it.
pub(crate) fn of_record(option: &str) -> Option<String> {
    let settings = read(&path()?).ok()?;
    let setting = settings.into_iter().find(|setting| setting.option == option)?;
    setting.values.into_iter().next()
}

/// Returns the path of the file, which may be missing.
fn path() -> Option<PathBuf> {
    if let Some(path) = env::var_os(VARIABLE) {
        return (!path.is_empty()).then(|| path.into());
    }
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // The XDG Base Directory Specification ignores relative paths.
    let directory = set("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    let directory = directory.or_else(|| Some(set("HOME")?.join(".config")));
    directory.map(|directory| directory.join("trace/config.toml"))
}

/// An option and its values.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) option: String,
    pub(crate) values: Vec<String>,
}

fn read(path: &Path) -> Result<Vec<Setting>> {
    let text = match fs::read_to_string(path) {
        Err(error) if is_absent(&error) && env::var_os(VARIABLE).is_none() => return Ok(Vec::new()),
        text => text?,
    };
    let mut file: Table = toml::from_str(&text)?;
    let record = match file.remove("record") {
        Some(Value::Table(record)) => record,
        Some(_) => bail!("'record' is not a table"),
        None => Table::new(),
    };
    if let Some(unknown) = file.keys().next() {
        bail!("unknown table or key '{unknown}'{HINT}options of trace record belong to [record]");
    }
    record.into_iter().map(|(option, value)| Setting::new(option, value)).collect()
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

impl Setting {
    /// Returns the setting of a key and its value in a file.
    pub(crate) fn new(option: String, value: Value) -> Result<Self> {
        let values = match value {
            Value::Array(values) => values.into_iter().map(text).collect(),
            value => text(value).map(|value| vec![value]),
        };
        let values = values.ok_or_else(|| {
            anyhow!(
                "the value of '{option}' is not a text, a number, true, false or a list of these"
            )
        })?;
        Ok(Self { option, values })
    }
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(is_on) => Some(is_on.to_string()),
        _ => None,
    }
}

/// Checks a setting, and makes it the default of its option.
fn set(cli: Command, setting: &Setting) -> Result<Command> {
    let Setting { option, values } = setting;
    let record = cli.find_subcommand("record").context("there is no command record")?;
    let arg = record.get_arguments().find(|arg| arg.get_long() == Some(option));
    let arg = arg.filter(|arg| !matches!(arg.get_action(), ArgAction::Help | ArgAction::HelpLong));
    let Some(arg) = arg else {
        bail!("'{option}' is not an option of trace record{HINT}trace record --help lists them");
    };
    let (id, is_flag) = (arg.get_id().clone(), !arg.get_action().takes_values());
    check(record, setting, is_flag)?;
    let values = values.clone();
    Ok(cli.mut_subcommand("record", |record| record.mut_arg(id, |arg| arg.default_values(values))))
}

/// Parses the values as on the command line.
fn check(record: &Command, setting: &Setting, is_flag: bool) -> Result<()> {
    let Setting { option, values } = setting;
    if is_flag {
        let [value] = values.as_slice() else { bail!("'{option}' is not true or false") };
        return match value.as_str() {
            "true" | "false" => Ok(()),
            _ => bail!("'{option}' is not true or false: '{value}'"),
        };
    }
    let line = values.iter().map(|value| format!("--{option}={value}"));
    let line = [record.get_name().to_owned()].into_iter().chain(line);
    match record.clone().try_get_matches_from(line) {
        Ok(_) => Ok(()),
        Err(error) => {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            bail!("{}", line.strip_prefix("error: ").unwrap_or(line))
        }
    }
}
