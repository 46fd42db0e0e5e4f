//! The options of a provider.

use std::path::PathBuf;

use trace_protocol::categories::CategorySet;
use trace_protocol::mode::BufferingMode;
use trace_protocol::socket::default_socket_paths_from;

use crate::service::environment::{parse_variable, variable};
use crate::sys;

/// The format of a process that traces itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputFormat {
    /// An archive.
    #[default]
    Fxt,
    /// A hidden archive in a directory, of which `trace recover` makes an XRay log. The buffer has
    /// function records.
    Xray,
}

/// The options of a provider. The environment has the defaults.
#[derive(Clone, Debug)]
pub struct Config {
    /// The provider's name, or `None` for the name of the process. At most 100 bytes are used.
    pub name: Option<String>,
    /// The patterns of the categories that the application allows. All categories if it is empty.
    pub categories: Vec<String>,
    /// The manager's socket.
    pub socket: PathBuf,
    /// The socket of the system's daemon, which is used while the first one has no manager.
    pub system_socket: Option<PathBuf>,
    /// The archive of a provider without a manager, or the directory of its logs.
    pub output: Option<PathBuf>,
    /// The format, for an output, or why there is none: `TRACE_FORMAT` has another value.
    pub format: Result<OutputFormat, String>,
    /// The approximate size of the buffer in bytes, for an output.
    pub buffer_size: usize,
    /// The buffering mode, for an output.
    pub mode: BufferingMode,
    /// The user of an accepted manager, beside root and the user of this process.
    pub manager_uid: Option<u32>,
    /// Permits records about other processes, and about CPUs.
    pub about_machine: bool,
    /// Uses the kernel's `membarrier`.
    pub membarrier: bool,
    /// Messages about invalid variables of the environment.
    pub messages: Vec<String>,
}

/// The default size of the buffer, in bytes.
const DEFAULT_BUFFER_SIZE: usize = 16 << 20;

impl Config {
    /// Returns the options of the environment, with defaults.
    #[must_use]
    pub fn from_environment() -> Self {
        let mut messages = Vec::new();
        let categories = variable("TRACE_CATEGORIES").and_then(|list| list.into_string().ok());
        let size = parse_variable("TRACE_BUFFER_SIZE", "bytes, as 16M", bytes, &mut messages);
        let modes = "oneshot, circular or streaming";
        let mode = parse_variable("TRACE_BUFFERING_MODE", modes, named_mode, &mut messages);
        let (socket, system_socket) = default_socket_paths_from(variable);
        Self {
            name: None,
            categories: split(&categories.unwrap_or_default()),
            socket,
            system_socket,
            output: variable("TRACE_OUTPUT").map(PathBuf::from),
            format: variable("TRACE_FORMAT")
                .map_or(Ok(OutputFormat::Fxt), |name| named_format(&name.to_string_lossy())),
            buffer_size: size.unwrap_or(DEFAULT_BUFFER_SIZE),
            mode: mode.unwrap_or(BufferingMode::Streaming),
            manager_uid: None,
            about_machine: false,
            membarrier: true,
            messages,
        }
    }

    /// Makes the paths absolute, because the process may change its working directory.
    #[must_use]
    pub fn with_absolute_paths(mut self) -> Self {
        self.socket = absolute(self.socket);
        self.output = self.output.map(absolute);
        self
    }

    /// Sets the archive of a provider without a manager.
    pub fn set_output(&mut self, path: PathBuf) {
        self.output = Some(path);
        self.format = Ok(OutputFormat::Fxt);
    }

    /// Sets the manager's socket, and looks nowhere else.
    pub fn set_socket(&mut self, path: PathBuf) {
        self.socket = path;
        self.system_socket = None;
    }

    /// Returns the sockets at which a manager may listen, in order.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.socket].into_iter().chain(&self.system_socket)
    }

    /// Returns whether a manager that runs as this user may record this process.
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

fn named_format(name: &str) -> Result<OutputFormat, String> {
    match &*name.to_ascii_lowercase() {
        "fxt" => Ok(OutputFormat::Fxt),
        "xray" => Ok(OutputFormat::Xray),
        _ => Err(format!("TRACE_FORMAT: expected fxt or xray, found '{name}'")),
    }
}

/// Parses a size in bytes, with `K`, `M` or `G` for powers of 1024.
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
    fn sizes_can_have_units() {
        assert_eq!(bytes("4096"), Some(4096));
        assert_eq!(bytes("16M"), Some(16 << 20));
        assert_eq!(bytes("2g"), Some(2 << 30));
        for wrong in ["", "M", "-1", "1.5M", "99999999999G"] {
            assert_eq!(bytes(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn formats_are_named_in_any_case() {
        assert_eq!(named_format("fxt"), Ok(OutputFormat::Fxt));
        for name in ["xray", "XRAY", "XRay"] {
            assert_eq!(named_format(name), Ok(OutputFormat::Xray), "{name}");
        }
        let expected = "TRACE_FORMAT: expected fxt or xray, found 'json'";
        assert_eq!(named_format("json"), Err(expected.to_owned()));
    }

    #[test]
    fn lists_are_split_at_commas() {
        assert_eq!(split("a, b*,-c,,"), ["a", "b*", "-c"]);
    }
}
