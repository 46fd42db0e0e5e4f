//! What `convert` writes.

use std::path::Path;

use clap::ValueEnum;

/// What `convert` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Chrome's JSON, the Trace Event Format
    Json,
    /// The Fuchsia trace format
    Fxt,
    /// Perfetto's own format, which shows more than it does of an archive
    Pftrace,
    /// A line for each stack of durations, for flame graphs
    Folded,
    /// The JSON of speedscope
    Speedscope,
    /// A line for each duration, for spreadsheets
    Csv,
}

impl Format {
    /// Returns what the name of a file says.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let name = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
        if name.ends_with(".speedscope.json") {
            return Some(Self::Speedscope);
        }
        match name.rsplit_once('.')?.1 {
            "json" => Some(Self::Json),
            "fxt" => Some(Self::Fxt),
            "pftrace" | "perfetto-trace" => Some(Self::Pftrace),
            "folded" => Some(Self::Folded),
            "csv" => Some(Self::Csv),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_formats() {
        let of = |name: &str| Format::of(Path::new(name));
        assert_eq!(of("a.json"), Some(Format::Json));
        assert_eq!(of("d/a.b.JSON.GZ"), Some(Format::Json));
        assert_eq!(of("a.fxt"), Some(Format::Fxt));
        assert_eq!(of("a.speedscope.json.gz"), Some(Format::Speedscope));
        assert_eq!((of("a.csv"), of("a.folded")), (Some(Format::Csv), Some(Format::Folded)));
        assert_eq!(of("a.pftrace"), Some(Format::Pftrace));
        assert_eq!(of("a.perfetto-trace.gz"), Some(Format::Pftrace));
        assert_eq!(of("a.fxt.zst"), Some(Format::Fxt));
        for other in ["-", "json", "a.gz", "a.txt", "/dev/null"] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
