//! The programs to which a recording attaches.

use std::convert::Infallible;
use std::fmt;

/// The value of `--attach`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Attach {
    /// All programs.
    All,
    /// The programs of a process.
    Process(u32),
    /// The programs of this name, also those that start later.
    Name(String),
}

pub(crate) fn parse_attach(text: &str) -> Result<Attach, Infallible> {
    Ok(match (text, text.parse()) {
        ("all", _) => Attach::All,
        (_, Ok(pid)) => Attach::Process(pid),
        (name, Err(_)) => Attach::Name(name.to_owned()),
    })
}

impl fmt::Display for Attach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => write!(f, "all programs"),
            Self::Process(pid) => pid.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_processes() {
        for (text, expected) in [
            ("all", Attach::All),
            ("4250", Attach::Process(4250)),
            ("web", Attach::Name("web".to_owned())),
            ("99999999999", Attach::Name("99999999999".to_owned())),
        ] {
            assert_eq!(parse_attach(text), Ok(expected));
        }
    }
}
