//! The processes that record the kernel's events for sessions of the daemon.

use std::io::{self, BufRead, BufReader, Read};
use std::process::{ChildStderr, Stdio};
use std::thread::{self, JoinHandle};

use trace_kernel::live::{is_kernel_category, Options, SampleOptions};
use trace_manager::{Companion, Manager, StartCompanion};

use crate::commands::record::kernel::{helper, of_kernel, Kernel};
use crate::message::describe;

/// The size of the kernel's buffer for each CPU in bytes, as in `trace record`.
const BUFFER_BYTES: u64 = 8 << 20;

/// The most bytes of a helper's error.
const MAX_ERROR: u64 = 16 << 10;

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
        categories: &[String],
    ) -> Result<Box<dyn Companion>, String> {
        let failed = |error: io::Error| format!("cannot trace the kernel: {}", describe(&error));
        let mut command = helper(&Options {
            categories: of_kernel(categories),
            threads: Vec::new(),
            buffer_size: BUFFER_BYTES,
            samples: SampleOptions::default(),
        });
        let mut process =
            manager.spawn_companion(command.stderr(Stdio::piped())).map_err(failed)?;
        let messages = process.stderr.take();
        let kernel = Kernel::of_process(process).map_err(failed)?;
        let messages = messages.ok_or(io::ErrorKind::BrokenPipe.into()).map_err(failed)?;
        match kernel.wait_until_ready() {
            Ok(Some(kernel)) => {
                let log = thread::Builder::new().spawn(|| log(messages)).map_err(failed)?;
                Ok(Box::new(KernelHelper { kernel: Some(kernel), log: Some(log) }))
            }
            Ok(None) => Err(text(messages)),
            Err(error) => Err(failed(error)),
        }
    }
}

/// A helper that records.
#[derive(Debug)]
struct KernelHelper {
    /// `None` after the drop, like `log`.
    kernel: Option<Kernel>,
    /// Ends when the helper has ended.
    log: Option<JoinHandle<()>>,
}

impl Companion for KernelHelper {
    fn id(&self) -> u32 {
        self.kernel.as_ref().map_or(0, Kernel::id)
    }
}

impl Drop for KernelHelper {
    fn drop(&mut self) {
        if let Some(kernel) = self.kernel.take() {
            kernel.end().advice().for_each(|advice| log::warn!("{advice}"));
        }
        if let Some(log) = self.log.take() {
            // If it panicked, messages are missing.
            let _panicked = log.join();
        }
    }
}

/// Logs the messages of a helper until it ends.
fn log(messages: ChildStderr) {
    for line in BufReader::new(messages).lines().map_while(Result::ok) {
        log::warn!("{}", line.trim_start_matches("trace: "));
    }
}

/// Returns the error of a helper that has ended.
fn text(messages: ChildStderr) -> String {
    let mut bytes = Vec::new();
    // An error cuts the text.
    let _read = messages.take(MAX_ERROR).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).trim_end().trim_start_matches("trace: ").to_owned()
}
