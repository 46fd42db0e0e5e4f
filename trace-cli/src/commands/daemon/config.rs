//! The configuration file of the daemon.
//!
//! The table `[groups]` has category groups. Each table `[session.NAME]` is a session that starts
//! with the daemon; its keys are the long names of options of `trace start`.

use std::fs;
use std::path::Path;

use anyhow::{anyhow, bail, Context, Result};
use clap::{Args, FromArgMatches};
use toml::{Table, Value};
use trace_manager::CategoryGroups;

use crate::args::parse_category;
use crate::cli::StartArgs;
use crate::commands::start;
use crate::defaults::Setting;
use crate::message::HINT;
use crate::near::{distance, nearest};

/// The start of a group's name among categories.
const GROUP: char = '#';

/// The configuration.
#[derive(Debug, Default)]
pub(super) struct Config {
    pub(super) groups: CategoryGroups,
    pub(super) sessions: Vec<StartArgs>,
}

impl Config {
    /// Reads the file, if there is one.
    pub(super) fn read(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else { return Ok(Self::default()) };
        let parse = || Self::parse(&fs::read_to_string(path)?);
        parse().with_context(|| format!("cannot use {}", path.display()))
    }

    fn parse(text: &str) -> Result<Self> {
        let mut config = Self::default();
        for (name, value) in toml::from_str::<Table>(text)? {
            let Value::Table(table) = value else { bail!("'{name}' is not a table") };
            match name.as_str() {
                "groups" => config.groups = groups(table)?,
                "session" => config.sessions = sessions(table)?,
                _ => bail!("unknown table '{name}'{HINT}tables are [groups] and [session.NAME]"),
            }
        }
        config.check()?;
        Ok(config)
    }

    /// Checks the sessions as far as that is possible before programs and outputs are known.
    fn check(&self) -> Result<()> {
        for args in &self.sessions {
            let check = || {
                start::check(args)?;
                args.session.categories.iter().try_for_each(|pattern| self.check_group(pattern))
            };
            let name = args.name.as_deref().unwrap_or_default();
            check().with_context(|| format!("session '{name}'"))?;
        }
        Ok(())
    }

    /// Returns a hint about the groups.
    fn defined(&self) -> String {
        let names: Vec<_> = self.groups.keys().map(|name| format!("#{name}")).collect();
        match names.is_empty() {
            true => "define it in the table [groups]".to_owned(),
            false => format!("the table [groups] has {}", names.join(", ")),
        }
    }

    fn check_group(&self, pattern: &str) -> Result<()> {
        match pattern.strip_prefix(GROUP) {
            Some(name) if !self.groups.contains_key(name) => {
                bail!("there is no category group '{pattern}'{HINT}{}", self.defined())
            }
            None if pattern.starts_with("-#") || pattern.contains("/#") => {
                bail!("'{pattern}': a group is neither excluded nor for a single program")
            }
            _ => Ok(()),
        }
    }
}

fn groups(table: Table) -> Result<CategoryGroups> {
    let group = |(name, value)| {
        let setting = Setting::new(name, value)?;
        let categories = setting.values.iter().map(|text| parse_category(text));
        let categories = categories.collect::<Result<Vec<_>, _>>();
        let categories = categories.map_err(|error| anyhow!("group '{}': {error}", setting.option));
        let categories = categories?;
        if let Some(other) =
            categories.iter().find(|it| it.trim_start_matches('-').starts_with(GROUP))
        {
            bail!("group '{}': it has categories, and no other group: '{other}'", setting.option);
        }
        Ok((setting.option, categories))
    };
    table.into_iter().map(group).collect()
}

fn sessions(table: Table) -> Result<Vec<StartArgs>> {
    let session = |(name, value): (String, Value)| {
        let Value::Table(options) = value else { bail!("'session.{name}' is not a table") };
        session(&name, options).with_context(|| format!("session '{name}'"))
    };
    table.into_iter().map(session).collect()
}

/// Parses the options as on the command line of `trace start`.
fn session(name: &str, options: Table) -> Result<StartArgs> {
    let command = StartArgs::augment_args(clap::Command::new("start"));
    let mut line = vec!["start".to_owned(), format!("--name={name}")];
    if !options.contains_key("output") {
        line.push(format!("--output={name}.fxt"));
    }
    for (option, value) in options {
        if !is_key(&option) {
            bail!("'{option}' is not an option of a session in a configuration");
        }
        if !keys(&command).contains(&option.as_str()) {
            return Err(unknown(&option, keys(&command)));
        }
        let Setting { option, values } = Setting::new(option, value)?;
        let arg = command.get_arguments().find(|arg| arg.get_long() == Some(&option));
        let is_flag = arg.is_some_and(|arg| !arg.get_action().takes_values());
        match values.as_slice() {
            [value] if is_flag && value == "true" => line.push(format!("--{option}")),
            [value] if is_flag && value == "false" => {}
            _ => line.extend(values.into_iter().map(|value| format!("--{option}={value}"))),
        }
    }
    let matches = command.try_get_matches_from(line);
    let args = matches.and_then(|matches| StartArgs::from_arg_matches(&matches));
    args.map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        anyhow!("{}", first.strip_prefix("error: ").unwrap_or(first))
    })
}

/// Returns whether an option of `trace start` can be a key.
fn is_key(option: &str) -> bool {
    !matches!(option, "name" | "socket" | "json")
}

/// Returns the keys of a session.
fn keys(command: &clap::Command) -> Vec<&str> {
    command.get_arguments().filter_map(clap::Arg::get_long).filter(|it| is_key(it)).collect()
}

/// Returns the error for a key that no session has, with the one that was perhaps meant.
fn unknown(key: &str, keys: Vec<&str>) -> anyhow::Error {
    let nearest = nearest(key, keys, |it| (*it).to_owned()).into_iter().next().unwrap_or_default();
    let hint = match distance(key, nearest) <= key.len() / 3 {
        true => format!("did you mean {nearest}?"),
        false => "keys are the long names of options of trace start".to_owned(),
    };
    anyhow!("'{key}' is not a key of a session{HINT}{hint}")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::args::Mode;
    use crate::message::describe;

    #[test]
    fn a_flight_recorder_has_five_lines() {
        let config = Config::parse(
            "[session.flight]\n\
             mode = 'circular'\n\
             buffer-size = '64M'\n\
             categories = ['#web', 'db']\n\
             trigger = 'slow:snapshot'\n\
             [groups]\n\
             web = 'http*'\n",
        );
        let sessions = config.unwrap().sessions;
        let [args] = sessions.as_slice() else { panic!("{sessions:?}") };
        assert_eq!(args.name.as_deref(), Some("flight"));
        assert_eq!((args.session.mode, args.session.buffer_size), (Mode::Circular, 64 << 20));
        assert_eq!(args.session.output, PathBuf::from("flight.fxt"));
        assert_eq!(args.session.categories, ["#web", "db"]);
        assert_eq!(args.session.triggers.len(), 1);
    }

    #[test]
    fn flags_are_true_or_false() {
        let config =
            |value| Config::parse(&format!("[session.a]\nkeep-alive = {value}\n[session.b]\n"));
        let flags = |value| {
            let sessions = config(value).unwrap().sessions;
            sessions.iter().map(|args| args.keep_alive).collect::<Vec<_>>()
        };
        assert_eq!((flags("true"), flags("false")), (vec![true, false], vec![false; 2]));
        assert!(config("3").is_err());
    }

    #[test]
    fn groups_are_lists_of_categories() {
        let config =
            Config::parse("[groups]\nweb = ['http*', '-http.cache']\ndb = 'sql'\n").unwrap();
        assert_eq!(config.groups["web"], ["http*", "-http.cache"]);
        assert_eq!(config.groups["db"], ["sql"]);
        assert!(config.sessions.is_empty());
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("a = 1", "'a' is not a table"),
            ("[sessions]", "unknown table 'sessions'"),
            ("[groups]\na = ['b*c']", "group 'a'"),
            ("[session]\na = 1", "'session.a' is not a table"),
            ("[session.a]\nmode = 'round'", "invalid value 'round'"),
            (
                "[session.a]\ncolor = 'red'",
                "session 'a': 'color' is not a key of a session\nhint: keys",
            ),
            ("[session.a]\nbufer-size = 1", "key of a session\nhint: did you mean buffer-size?"),
            ("[session.a]\ncategories = '#c'", "'#c'\nhint: define it in the table [groups]"),
            (
                "[session.a]\ncategories = '#c'\n[groups]\nd = 'e'",
                "hint: the table [groups] has #d",
            ),
            ("[session.a]\nname = 'b'", "'name' is not an option of a session"),
            ("[session.a]\nduration = {}", "the value of 'duration' is not"),
            ("[groups]\na = ['b', '#c']\nc = ['d']", "group 'a': it has categories, and no other"),
            ("[groups]\na = ['-#c']\nc = ['d']", "group 'a': it has categories, and no other"),
            ("[session.a]\ncategories = '#c'", "session 'a': there is no category group '#c'"),
            ("[session.a]\ncategories = '-#c'", "session 'a': '-#c': a group is neither excluded"),
            ("[session.a]\nrotate = '1K'", "session 'a': parts of 1024 bytes are too small"),
            ("[session.a]\noutput = 'a.fxt.gz'", "session 'a': cannot write a.fxt.gz: the daemon"),
            ("[session.'a b']", "session 'a b': a session's name has 1 to 64 letters"),
            ("[session.a]\ntrigger = 'b:exit'", "session 'a': the trigger 'alert:b:exit=0' sets"),
        ] {
            let error = describe(Config::parse(text).unwrap_err().as_ref());
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
