//! Output formats, by the name of a file.

use std::fmt;
use std::path::Path;

use anyhow::{bail, Result};
use clap::ValueEnum;

use crate::compression::{end_of, Compression};
use crate::message::HINT;

/// An output format; `--to` accepts those that `convert` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Chrome JSON (Trace Event Format)
    Json,
    /// Fuchsia trace format
    Fxt,
    /// Perfetto's format
    Pftrace,
    /// Folded stacks, for flame graphs
    Folded,
    /// Speedscope JSON
    Speedscope,
    /// CSV with a line for each event, for spreadsheets
    Csv,
    /// XRay log, with its map beside it
    Xray,
    /// XRay log as YAML, as llvm-xray has it
    Yaml,
    /// Folder with a Parquet file for each table of trace query
    Parquet,
    #[value(skip)]
    Svg,
    #[value(skip)]
    Html,
}

impl Format {
    /// Returns the format that a file's name implies, or `None` if it implies none.
    pub(crate) fn of(path: &Path) -> Result<Option<Self>> {
        let plain = match Compression::of(path)? {
            Compression::None => path.to_owned(),
            _ => path.with_extension(""),
        };
        let Some(end) = end_of(&plain) else { return Ok(None) };
        let stem = plain.file_stem().map(Path::new).and_then(end_of);
        let format = match (stem.as_deref(), end.as_str()) {
            (Some("speedscope"), "json") => Self::Speedscope,
            (_, "json") => Self::Json,
            (_, "fxt") => Self::Fxt,
            (_, "pftrace" | "perfetto-trace") => Self::Pftrace,
            (_, "folded") => Self::Folded,
            (_, "csv") => Self::Csv,
            (_, "xray") => Self::Xray,
            (_, "yaml" | "yml") => Self::Yaml,
            (_, "parquet") => Self::Parquet,
            (_, "svg") => Self::Svg,
            (_, "html" | "htm") => Self::Html,
            _ => bail!(
                "cannot write {}: unknown format .{end}{HINT}use .json, .fxt, .pftrace, .folded, \
                 .speedscope.json, .csv, .xray, .yaml or .parquet, or --to",
                path.display()
            ),
        };
        Ok(Some(format))
    }

    /// Fails if a file's name implies another format.
    pub(crate) fn refuse_other(self, path: &Path) -> Result<()> {
        Compression::of(path)?;
        match Self::of(path) {
            Ok(Some(other)) if other != self => {
                bail!(
                    "cannot write {self} to {}: its name implies {other}{HINT}`trace convert` \
                     writes other formats",
                    path.display()
                )
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Json => "Chrome JSON",
            Self::Fxt => "FXT",
            Self::Pftrace => "a Perfetto trace",
            Self::Folded => "folded stacks",
            Self::Speedscope => "speedscope JSON",
            Self::Csv => "CSV",
            Self::Xray => "an XRay log",
            Self::Yaml => "YAML of an XRay log",
            Self::Parquet => "tables in Parquet",
            Self::Svg => "SVG",
            Self::Html => "HTML",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_imply_formats() {
        for (name, format) in [
            ("a.json", Format::Json),
            ("d/a.b.JSON.GZ", Format::Json),
            ("a.fxt", Format::Fxt),
            ("a.speedscope.json.gz", Format::Speedscope),
            ("a.csv", Format::Csv),
            ("tables.parquet", Format::Parquet),
            ("a.xray", Format::Xray),
            ("a.yaml", Format::Yaml),
            ("a.yml.gz", Format::Yaml),
            ("a.folded", Format::Folded),
            ("a.pftrace", Format::Pftrace),
            ("a.perfetto-trace.gz", Format::Pftrace),
            ("a.fxt.zst", Format::Fxt),
            ("a.SVG", Format::Svg),
            ("a.htm.zst", Format::Html),
        ] {
            assert_eq!(Format::of(Path::new(name)).unwrap(), Some(format), "{name}");
        }
        for name in ["-", "json", "a.gz", "/dev/null", "/dev/fd/63"] {
            assert_eq!(Format::of(Path::new(name)).unwrap(), None, "{name}");
        }
        for name in ["a.txt", "a.json.xz", "a.json.gz.zst", "a.fxt.bak"] {
            assert!(Format::of(Path::new(name)).is_err(), "{name}");
        }
    }

    #[test]
    fn names_of_other_formats_are_refused() {
        let refused = |name: &str| Format::Fxt.refuse_other(Path::new(name)).is_err();
        assert!(refused("a.json") && refused("a.html.gz") && refused("a.fxt.xz"));
        assert!(!refused("a.fxt") && !refused("run.1") && !refused("-") && !refused("a"));
    }
}
