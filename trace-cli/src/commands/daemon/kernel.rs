//! The processes that record the kernel's events for sessions of the daemon.

use std::io::{self, BufRead, BufReader};
use std::process::{ChildStderr, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use trace_convert::visible;
use trace_kernel::live::{is_kernel_category, SampleOptions, DEFAULT_SOCKET};
use trace_manager::controller::CompanionResult;
use trace_manager::{Companion, Manager, StartCompanion};

use crate::commands::record::kernel::{
    helper, of_kernel, HelperOptions, HelperScope, Kernel, KernelResult,
};
use crate::message::describe;

/// The size of the kernel's buffer for each CPU in bytes, as in `trace record`.
const BUFFER_BYTES: u64 = 8 << 20;

/// The most bytes of a helper's error.
const MAX_ERROR: usize = 16 << 10;

/// Starts a helper for each session that selects categories of the kernel by name.
#[derive(Debug)]
pub(super) struct KernelCompanions;

impl StartCompanion for KernelCompanions {
    fn is_required(&self, categories: &[String]) -> bool {
        categories.iter().any(|pattern| is_kernel_category(pattern))
    }

    fn start(
        &self,
        manager: &Manager,
        session: &str,
        categories: &[String],
    ) -> Result<Box<dyn Companion>, String> {
        let failed = |error: io::Error| format!("cannot trace the kernel: {}", describe(&error));
        let mut command = helper(&HelperOptions {
            categories: of_kernel(categories),
            scope: HelperScope::Threads(Vec::new()),
            buffer_size: BUFFER_BYTES,
            server: DEFAULT_SOCKET.to_owned(),
            samples: SampleOptions::default(),
        });
        let mut process =
            manager.spawn_companion(command.stderr(Stdio::piped())).map_err(failed)?;
        let messages = process.stderr.take();
        let kernel = Kernel::of_process(process).map_err(failed)?;
        let messages = messages.ok_or(io::ErrorKind::BrokenPipe.into()).map_err(failed)?;
        let recording = Recording::default();
        let log = Log { session: session.to_owned(), is_recording: Arc::clone(&recording.0) };
        // Before the wait: a helper with many messages does not start until they are read.
        let log = LogThread::start(log, messages).map_err(failed)?;
        match kernel.wait_until_ready() {
            Ok(Some(kernel)) => {
                recording.0.store(true, Ordering::SeqCst);
                Ok(Box::new(KernelHelper { recording, kernel, log }))
            }
            Ok(None) => Err(log.join()),
            Err(error) => Err(failed(error)),
        }
    }
}

/// A helper that records. If the session cannot start, it is dropped, which ends the helper.
///
/// Rules: the fields are dropped in this order.
#[derive(Debug)]
struct KernelHelper {
    recording: Recording,
    kernel: Kernel,
    log: LogThread,
}

impl Companion for KernelHelper {
    fn id(&self) -> u32 {
        self.kernel.id()
    }

    fn end(self: Box<Self>) -> CompanionResult {
        let Self { recording, kernel, log } = *self;
        drop(recording);
        let result = kernel.end().numbers();
        KernelResult::from(result).advice().for_each(|advice| log::warn!("{advice}"));
        drop(log);
        result
    }
}

/// Whether the helper records and must not end: not any more when this is dropped.
#[derive(Debug, Default)]
struct Recording(Arc<AtomicBool>);

impl Drop for Recording {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

/// The thread of a log, which ends when the helper has ended. A drop waits for it.
#[derive(Debug)]
struct LogThread(Option<JoinHandle<String>>);

impl LogThread {
    fn start(log: Log, messages: ChildStderr) -> io::Result<Self> {
        Ok(Self(Some(thread::Builder::new().spawn(move || log.run(messages))?)))
    }

    /// Waits for the end. Returns the first messages. If the thread panicked, messages are missing.
    fn join(mut self) -> String {
        self.0.take().map(|thread| thread.join().unwrap_or_default()).unwrap_or_default()
    }
}

impl Drop for LogThread {
    fn drop(&mut self) {
        let _messages = self.0.take().map(JoinHandle::join);
    }
}

/// The log of a helper.
struct Log {
    session: String,
    /// Whether the helper records and must not end.
    is_recording: Arc<AtomicBool>,
}

impl Log {
    /// Logs the messages of a helper until it ends. Returns the first of them.
    fn run(self, messages: ChildStderr) -> String {
        let mut first = String::new();
        let session = visible(&self.session);
        for line in BufReader::new(messages).lines().map_while(Result::ok) {
            let line = line.trim_start_matches("trace: ");
            log::warn!("session {session}: {line}");
            if first.len() + line.len() < MAX_ERROR {
                first.extend((!first.is_empty()).then_some('\n'));
                first.push_str(line);
            }
        }
        if self.is_recording.load(Ordering::SeqCst) {
            log::error!(
                "session {session}: the process trace-kernel has ended; later events of the kernel \
                 are missing"
            );
        }
        first
    }
}
