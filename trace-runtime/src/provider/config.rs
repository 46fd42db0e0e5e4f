//! What an application may choose of its provider.

use std::path::PathBuf;

use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::categories::CategorySet;
use trace_protocol::socket::default_socket_path_from;

use super::environment::variable;
use super::handle::Trace;
use super::sys;
use crate::Clock;

/// Chooses how this process is traced; what is not chosen comes from the environment.
///
/// ```
/// let _trace = trace_runtime::builder().name("indexer").categories(["index*", "-index:verbose"]).init();
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `init`"]
pub struct Builder {
    pub(super) name: Option<String>,
    pub(super) categories: Vec<String>,
    pub(super) socket: PathBuf,
    pub(super) output: Option<PathBuf>,
    pub(super) buffer_size: usize,
    pub(super) mode: BufferingMode,
    pub(super) membarrier: bool,
    pub(super) on_message: Option<OnMessage>,
    /// What cannot be understood of the environment.
    pub(super) messages: Vec<String>,
    manager_uid: Option<u32>,
    pub(super) clock: Option<Clock>,
}

/// A function of the application that takes messages of the tracer.
pub(super) type OnMessage = fn(&str);

/// Bytes of the buffer where nothing else is said.
const DEFAULT_BUFFER_SIZE: usize = 16 << 20;

impl Builder {
    pub(super) fn from_environment() -> Self {
        let mut messages = Vec::new();
        let categories = variable("TRACE_CATEGORIES").and_then(|list| list.into_string().ok());
        let size = chosen("TRACE_BUFFER_SIZE", "bytes, as 16M", bytes, &mut messages);
        let modes = "oneshot, circular or streaming";
        let mode = chosen("TRACE_BUFFERING_MODE", modes, named_mode, &mut messages);
        let clocks = "counter, boottime, syscall or coarse";
        let clock = chosen("TRACE_CLOCK", clocks, named_clock, &mut messages);
        Self {
            name: None,
            categories: split(&categories.unwrap_or_default()),
            socket: default_socket_path_from(variable),
            output: variable("TRACE_OUTPUT").map(PathBuf::from),
            buffer_size: size.unwrap_or(DEFAULT_BUFFER_SIZE),
            mode: mode.unwrap_or(BufferingMode::Streaming),
            membarrier: true,
            clock,
            on_message: None,
            messages,
            manager_uid: None,
        }
    }

    /// The provider's name; without one that of the process. At most 100 bytes of it count.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Records no other categories than these, whatever a session asks for: names, `prefix*`, and
    /// `-name` or `-prefix*` to leave some out, which wins. None, or only some to leave out, means
    /// all others.
    pub fn categories<T: Into<String>>(mut self, categories: impl IntoIterator<Item = T>) -> Self {
        self.categories = categories.into_iter().map(Into::into).collect();
        self
    }

    /// The socket of the manager.
    pub fn socket(mut self, path: impl Into<PathBuf>) -> Self {
        self.socket = path.into();
        self
    }

    /// Traces into this file, without a manager. While the process runs its records are in a buffer
    /// beside it; `trace recover` makes the archive from that if the process was killed. If another
    /// process traces into this file at the time, as the parent of one that inherited
    /// `TRACE_OUTPUT` does, the name gets this process's id, as in `out-1234.fxt`.
    pub fn output(mut self, path: impl Into<PathBuf>) -> Self {
        self.output = Some(path.into());
        self
    }

    /// With [`Builder::output`]: about how many bytes the buffer has. 16 MiB if not chosen.
    pub fn buffer_size(mut self, bytes: usize) -> Self {
        self.buffer_size = bytes;
        self
    }

    /// With [`Builder::output`]: keeps the oldest records, and drops what comes when the buffer is
    /// full.
    pub fn oneshot(mut self) -> Self {
        self.mode = BufferingMode::Oneshot;
        self
    }

    /// With [`Builder::output`]: keeps the newest records: seven eighths of the buffer at
    /// least, and half of one below half a mebibyte.
    pub fn circular(mut self) -> Self {
        self.mode = BufferingMode::Circular;
        self
    }

    /// With [`Builder::output`]: keeps all records, and writes them to the file while the process
    /// runs. This is the default.
    pub fn streaming(mut self) -> Self {
        self.mode = BufferingMode::Streaming;
        self
    }

    /// Accepts a manager that runs as this user, too. Other managers are accepted only if they run
    /// as root, or as the real user of this process.
    pub fn manager_uid(mut self, uid: u32) -> Self {
        self.manager_uid = Some(uid);
        self
    }

    /// Calls a function with each message for the program's user: why the process is not traced,
    /// or where its archive is if that is not where it should be. Without this, nothing is printed.
    ///
    /// It is called on the thread that calls [`Builder::init`], or ends the provider, and before
    /// that returns. It must not panic.
    ///
    /// ```
    /// let _trace = trace_runtime::builder().on_message(|message| eprintln!("trace: {message}")).init();
    /// ```
    pub fn on_message(mut self, function: fn(&str)) -> Self {
        self.on_message = Some(function);
        self
    }

    /// Does without the kernel's `membarrier`: for tests of the slower path that kernels without it
    /// need.
    #[doc(hidden)]
    pub fn without_membarrier(mut self) -> Self {
        self.membarrier = false;
        self
    }

    /// Where timestamps come from. If not chosen, the CPU's counter, but for a process whose
    /// calling thread may not read it, which takes [`Clock::SystemCall`].
    ///
    /// Choose for a program in which other threads may not read the counter: with
    /// `prctl(PR_SET_TSC)` [`Clock::SystemCall`], under strict seccomp [`Clock::Coarse`].
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Makes this process a provider, until the guard is dropped. See [`init`](crate::init).
    ///
    /// If the process is one already, what was chosen here does not count.
    pub fn init(mut self) -> Trace {
        // The process may change its directory before the paths are used.
        self.socket = absolute(self.socket);
        self.output = self.output.map(absolute);
        Trace::new(self)
    }

    /// Whether a manager that runs as this user may record this process.
    pub(super) fn accepts_manager_of(&self, uid: u32) -> bool {
        uid == 0 || uid == sys::real_user() || Some(uid) == self.manager_uid
    }

    pub(super) fn category_set(&self) -> CategorySet {
        CategorySet::new(&self.categories)
    }
}

/// The choice of a variable of the environment; a message if that cannot be understood.
fn chosen<T>(
    name: &str,
    expected: &str,
    parse: impl Fn(&str) -> Option<T>,
    messages: &mut Vec<String>,
) -> Option<T> {
    let value = variable(name)?;
    let parsed = value.to_str().and_then(parse);
    if parsed.is_none() {
        let value = value.to_string_lossy();
        messages.push(format!("{name}: expected {expected}, found '{value}'; it is ignored"));
    }
    parsed
}

fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

fn split(list: &str) -> Vec<String> {
    list.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
}

fn named_clock(name: &str) -> Option<Clock> {
    match name {
        "counter" => Some(Clock::Counter),
        "boottime" => Some(Clock::Boottime),
        "syscall" => Some(Clock::SystemCall),
        "coarse" => Some(Clock::Coarse),
        _ => None,
    }
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
