//! What may be chosen of a provider.

use std::path::PathBuf;

use trace_protocol::categories::CategorySet;
use trace_protocol::mode::BufferingMode;
use trace_protocol::socket::default_socket_path_from;

use crate::service::environment::{chosen, variable};
use crate::sys;

/// The choices of a provider. Those that are not made come from the environment.
#[derive(Clone, Debug)]
pub struct Config {
    /// The provider's name; without one that of the process. At most 100 bytes of it count.
    pub name: Option<String>,
    /// The patterns of the categories that may be recorded; none for all.
    pub categories: Vec<String>,
    /// The manager's socket.
    pub socket: PathBuf,
    /// The archive of a provider that does without a manager.
    pub output: Option<PathBuf>,
    /// With an output: about how many bytes the buffer has.
    pub buffer_size: usize,
    /// With an output: what happens when the buffer is full.
    pub mode: BufferingMode,
    /// Another user than root and this process's whose manager is accepted.
    pub manager_uid: Option<u32>,
    /// Records may be about other processes and processors.
    pub about_machine: bool,
    /// Whether the kernel's `membarrier` is used.
    pub membarrier: bool,
    /// What cannot be understood of the environment.
    pub messages: Vec<String>,
}

/// Bytes of the buffer where nothing else is said.
const DEFAULT_BUFFER_SIZE: usize = 16 << 20;

impl Config {
    /// Returns the environment's choices, and defaults for the others.
    #[must_use]
    pub fn from_environment() -> Self {
        let mut messages = Vec::new();
        let categories = variable("TRACE_CATEGORIES").and_then(|list| list.into_string().ok());
        let size = chosen("TRACE_BUFFER_SIZE", "bytes, as 16M", bytes, &mut messages);
        let modes = "oneshot, circular or streaming";
        let mode = chosen("TRACE_BUFFERING_MODE", modes, named_mode, &mut messages);
        Self {
            name: None,
            categories: split(&categories.unwrap_or_default()),
            socket: default_socket_path_from(variable),
            output: variable("TRACE_OUTPUT").map(PathBuf::from),
            buffer_size: size.unwrap_or(DEFAULT_BUFFER_SIZE),
            mode: mode.unwrap_or(BufferingMode::Streaming),
            manager_uid: None,
            about_machine: false,
            membarrier: true,
            messages,
        }
    }

    /// Makes the paths absolute: the process may change its directory before they are used.
    #[must_use]
    pub fn with_absolute_paths(mut self) -> Self {
        self.socket = absolute(self.socket);
        self.output = self.output.map(absolute);
        self
    }

    /// Whether a manager that runs as this user may record this process.
    pub(crate) fn accepts_manager_of(&self, uid: u32) -> bool {
        uid == 0 || uid == sys::real_user() || Some(uid) == self.manager_uid
    }

    pub(crate) fn category_set(&self) -> CategorySet {
        CategorySet::new(&self.categories)
    }
}

fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

fn split(list: &str) -> Vec<String> {
    list.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
}

fn named_mode(name: &str) -> Option<BufferingMode> {
    match name {
        "oneshot" => Some(BufferingMode::Oneshot),
        "circular" => Some(BufferingMode::Circular),
        "streaming" => Some(BufferingMode::Streaming),
        _ => None,
    }
}

/// Bytes, with `K`, `M` or `G` for powers of 1024.
fn bytes(text: &str) -> Option<usize> {
    let (number, shift) = match text.as_bytes().last()? {
        b'K' | b'k' => (&text[..text.len() - 1], 10),
        b'M' | b'm' => (&text[..text.len() - 1], 20),
        b'G' | b'g' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    number.parse::<usize>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes("4096"), Some(4096));
        assert_eq!(bytes("16M"), Some(16 << 20));
        assert_eq!(bytes("2g"), Some(2 << 30));
        for wrong in ["", "M", "-1", "1.5M", "99999999999G"] {
            assert_eq!(bytes(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn lists_are_split_at_commas() {
        assert_eq!(split("a, b*,-c,,"), ["a", "b*", "-c"]);
    }
}
