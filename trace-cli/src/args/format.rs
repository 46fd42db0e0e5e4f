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
}

impl Format {
    /// Returns what the name of a file says.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let name = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
        match name.rsplit_once('.')?.1 {
            "json" => Some(Self::Json),
            "fxt" => Some(Self::Fxt),
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
        assert_eq!(of("a.fxt.zst"), Some(Format::Fxt));
        for other in ["-", "json", "a.gz", "a.txt", "/dev/null"] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
