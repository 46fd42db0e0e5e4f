//! The categories of functions.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trace_protocol::categories::CategorySet;
use trace_symbols::CodeName;

use super::error::{ProbeError, ProbeFault};
use crate::live::error::LiveError;

/// The prefix of categories of the calls of one function, as instants: `kernel:uprobe:PATH:SYMBOL`.
pub const ENTRY_PREFIX: &str = "kernel:uprobe:";

/// The prefix of categories of the calls of one function, as durations:
/// `kernel:uretprobe:PATH:SYMBOL`.
pub const CALL_PREFIX: &str = "kernel:uretprobe:";

/// A function whose calls are events.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::live) struct Probe {
    /// The category of its events.
    pub(in crate::live) category: String,
    path: PathBuf,
    /// The name of the function, as the category has it.
    pub(in crate::live) symbol: String,
    /// Whether returns are events, too.
    pub(in crate::live) has_returns: bool,
}

impl Probe {
    /// Returns the probes that `patterns` select.
    pub(super) fn of_patterns(patterns: &[String]) -> Result<Vec<Arc<Self>>, LiveError> {
        let set = CategorySet::new(patterns);
        let mut selected: Vec<&String> =
            patterns.iter().filter(|pattern| is_probe(pattern) && set.matches(pattern)).collect();
        selected.sort();
        selected.dedup();
        let parsed = selected.into_iter().map(|category| Self::parse(category).map(Arc::new));
        parsed.collect::<Result<_, _>>().map_err(LiveError::Probe)
    }

    /// Parses a category. The path is the first part before a `:` that is a file.
    pub(super) fn parse(category: &str) -> Result<Self, ProbeError> {
        let failed = |fault| ProbeError { category: category.to_owned(), fault };
        let has_returns = category.starts_with(CALL_PREFIX);
        let prefix = if has_returns { CALL_PREFIX } else { ENTRY_PREFIX };
        let text = category.strip_prefix(prefix).unwrap_or_default();
        let parts = text.match_indices(':').filter_map(|(place, _)| text.split_at_checked(place));
        let parts =
            parts.map(|(path, symbol)| (Path::new(path), symbol.get(1..).unwrap_or_default()));
        let mut parts =
            parts.filter(|(path, symbol)| !path.as_os_str().is_empty() && !symbol.is_empty());
        let first = parts.clone().next().ok_or_else(|| failed(ProbeFault::Syntax))?;
        let (path, symbol) = parts.find(|(path, _)| path.is_file()).unwrap_or(first);
        let (category, symbol) = (category.to_owned(), symbol.to_owned());
        Ok(Self { category, path: path.to_owned(), symbol, has_returns })
    }

    /// Opens the file, and finds the offsets of the function in it.
    pub(super) fn resolve(&self) -> Result<(File, Vec<u64>), ProbeFault> {
        let file = trace_symbols::open(&self.path);
        let file = file.ok_or_else(|| ProbeFault::NoFile(self.path.clone()))?;
        let name = CodeName::parse(&self.symbol);
        if self.has_returns && matches!(name, CodeName::Function(_, 1..)) {
            return Err(ProbeFault::ReturnOfPlace);
        }
        let offsets = name.offsets(&file).map_err(ProbeFault::Place)?;
        Ok((file, offsets))
    }

    pub(super) fn error(&self, fault: ProbeFault) -> ProbeError {
        ProbeError { category: self.category.clone(), fault }
    }
}

/// Returns whether a category is of a function.
pub(in crate::live) fn is_probe(category: &str) -> bool {
    category.starts_with(ENTRY_PREFIX) || category.starts_with(CALL_PREFIX)
}

/// Checks that there is a file with the function of a category `kernel:uprobe:…` or
/// `kernel:uretprobe:…`. Other categories are accepted.
///
/// # Errors
///
/// The reason why the function has no events.
pub fn check_probe(category: &str) -> Result<(), LiveError> {
    if !is_probe(category) {
        return Ok(());
    }
    let probe = Probe::parse(category).map_err(LiveError::Probe)?;
    let resolved = probe.resolve().map(drop);
    resolved.map_err(|fault| LiveError::Probe(probe.error(fault)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_the_first_part_that_is_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let (plain, colon) = (directory.path().join("app"), directory.path().join("app:1"));
        std::fs::write(&colon, "").unwrap();
        let parsed = |category: &str| {
            let probe = Probe::parse(category).unwrap();
            (probe.path, probe.symbol, probe.has_returns)
        };
        let category = format!("kernel:uprobe:{}:a::b", colon.display());
        assert_eq!(parsed(&category), (colon, "a::b".to_owned(), false));
        let category = format!("kernel:uretprobe:{}:a::b", plain.display());
        assert_eq!(parsed(&category), (plain, "a::b".to_owned(), true), "no file");
    }

    #[test]
    fn categories_without_a_path_or_a_function() {
        for category in [
            "kernel:uprobe:",
            "kernel:uprobe:main",
            "kernel:uprobe:/bin/true:",
            "kernel:uprobe::main",
        ] {
            let error = Probe::parse(category).unwrap_err();
            assert!(matches!(error.fault, ProbeFault::Syntax), "{category}: {error}");
        }
    }

    #[test]
    fn exclusions_take_precedence() {
        let list =
            |patterns: &[&str]| patterns.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let (a, b) = ("kernel:uprobe:/none:a", "kernel:uprobe:/none:b");
        let excluded = format!("-{b}");
        let probes = Probe::of_patterns(&list(&[a, b, a, &excluded, "kernel:sched"])).unwrap();
        let symbols: Vec<&str> = probes.iter().map(|probe| &*probe.symbol).collect();
        assert_eq!(symbols, ["a"]);
    }

    #[test]
    fn functions_are_checked() {
        let own = std::env::current_exe().unwrap();
        let check = |category: &str| check_probe(category).map_err(|error| error.to_string());
        let own = own.display();
        assert_eq!(check(&format!("kernel:uprobe:{own}:main")), Ok(()));
        assert_eq!(check("kernel:sched"), Ok(()));
        let missing = check(&format!("kernel:uprobe:{own}:no_such_function")).unwrap_err();
        assert!(missing.ends_with("the file has no such function"), "{missing}");
        let missing = check("kernel:uprobe:/none/at/all:main").unwrap_err();
        assert!(missing.ends_with("/none/at/all is not a file that can be read"), "{missing}");
        let within = check(&format!("kernel:uretprobe:{own}:main+1")).unwrap_err();
        assert!(within.ends_with("only the start of a function has a return"), "{within}");
    }
}
