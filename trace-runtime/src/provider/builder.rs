//! What an application may choose of its provider.

use std::path::PathBuf;

use trace_protocol::mode::BufferingMode;
use trace_provider::{parse_variable, Config};

use super::current::OnMessage;
use super::handle::Trace;
use crate::Clock;

/// Chooses how this process is traced; what is not chosen comes from the environment.
///
/// ```
/// let _trace = trace_runtime::builder().name("indexer").categories(["index*", "-index:verbose"]).init();
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `init`"]
pub struct Builder {
    config: Config,
    on_message: Option<OnMessage>,
    clock: Option<Clock>,
}

impl Builder {
    pub(super) fn from_environment() -> Self {
        let mut config = Config::from_environment();
        let clocks = "counter, boottime, syscall or coarse";
        let clock = parse_variable("TRACE_CLOCK", clocks, named_clock, &mut config.messages);
        Self { config, on_message: None, clock }
    }

    /// The provider's name; without one that of the process. At most 100 bytes of it count.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.config.name = Some(name.into());
        self
    }

    /// Records no other categories than these, whatever a session asks for: names, `prefix*`, and
    /// `-name` or `-prefix*` to leave some out, which wins. None, or only some to leave out, means
    /// all others.
    pub fn categories<T: Into<String>>(mut self, categories: impl IntoIterator<Item = T>) -> Self {
        self.config.categories = categories.into_iter().map(Into::into).collect();
        self
    }

    /// The socket of the manager.
    pub fn socket(mut self, path: impl Into<PathBuf>) -> Self {
        self.config.set_socket(path.into());
        self
    }

    /// Traces into this file, without a manager. While the process runs its records are in a buffer
    /// beside it; `trace recover` makes the archive from that if the process was killed. If another
    /// process traces into this file at the time, as the parent of one that inherited
    /// `TRACE_OUTPUT` does, the name gets this process's id, as in `out-1234.fxt`. An earlier
    /// archive is renamed to `out.fxt.old`. `%p`, `%n`, `%t` and `%%` in the path are replaced by
    /// the process's id, its name, the time in UTC, and a percent sign. `TRACE_FORMAT` is ignored.
    pub fn output(mut self, path: impl Into<PathBuf>) -> Self {
        self.config.set_output(path.into());
        self
    }

    /// With [`Builder::output`]: about how many bytes the buffer has. 16 MiB if not chosen.
    pub fn buffer_size(mut self, bytes: usize) -> Self {
        self.config.buffer_size = bytes;
        self
    }

    /// With [`Builder::output`]: keeps the oldest records, and drops what comes when the buffer is
    /// full.
    pub fn oneshot(mut self) -> Self {
        self.config.mode = BufferingMode::Oneshot;
        self
    }

    /// With [`Builder::output`]: keeps the newest records: seven eighths of the buffer at
    /// least, and half of one below half a mebibyte.
    pub fn circular(mut self) -> Self {
        self.config.mode = BufferingMode::Circular;
        self
    }

    /// With [`Builder::output`]: keeps all records, and writes them to the file while the process
    /// runs. This is the default.
    pub fn streaming(mut self) -> Self {
        self.config.mode = BufferingMode::Streaming;
        self
    }

    /// Accepts a manager that runs as this user, too. Other managers are accepted only if they run
    /// as root, or as the real user of this process.
    pub fn manager_uid(mut self, uid: u32) -> Self {
        self.config.manager_uid = Some(uid);
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
        self.config.membarrier = false;
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
        self.config = self.config.with_absolute_paths();
        Trace::new(self.config, self.clock, self.on_message)
    }
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
