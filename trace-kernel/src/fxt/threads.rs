//! Names and processes of threads.

use std::collections::HashMap;

use trace_format::layout::{cut_str, ObjectType, MAX_STRING_BYTES};
use trace_format::{Argument, KernelObject, ThreadKoids, Value, WriteError};

use super::sink::RecordSink;

/// The most threads whose name and process are remembered.
const MAX_THREADS: usize = 1 << 16;

/// The process and the name of each thread.
#[derive(Debug, Default)]
pub struct Threads(HashMap<u64, (Option<u64>, Box<str>)>);

impl Threads {
    /// Returns the koids of a thread; its process is 0 if it is unknown.
    #[must_use]
    pub fn koids(&self, thread: u64) -> ThreadKoids {
        let process = self.0.get(&thread).and_then(|(process, _)| *process);
        ThreadKoids::new(process.unwrap_or(0), thread)
    }

    /// Sets the process of a thread whose name is not known yet.
    pub(super) fn set_process(&mut self, thread: u64, process: u64) {
        if self.0.len() < MAX_THREADS {
            self.0.entry(thread).or_default().0 = Some(process);
        }
    }

    /// Returns the process of a thread, if it is known. Writes the thread's name if that or its
    /// process has changed. No name, or `<...>`, leaves the name as it is.
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub fn note<S: RecordSink>(
        &mut self,
        archive: &mut S,
        thread: u64,
        process: Option<u64>,
        name: &str,
    ) -> Result<Option<u64>, WriteError> {
        if self.0.len() >= MAX_THREADS && !self.0.contains_key(&thread) {
            return Ok(process);
        }
        let known = self.0.entry(thread).or_default();
        let process = process.or(known.0);
        let name = match name {
            "" | "<...>" => &*known.1,
            name => cut_str(name, MAX_STRING_BYTES),
        };
        if (known.0, &*known.1) == (process, name) {
            return Ok(process);
        }
        if thread != 0 && !name.is_empty() {
            let argument = process.map(|koid| Argument::new("process", Value::Koid(koid)));
            let (object_type, arguments) = (ObjectType::THREAD, argument.as_slice().into());
            let name = name.into();
            archive.record(&KernelObject { object_type, koid: thread, name, arguments }.into())?;
        }
        *known = (process, name.into());
        Ok(process)
    }

    /// Forgets a thread that has ended: its id may be used again.
    pub fn remove(&mut self, thread: u64) {
        self.0.remove(&thread);
    }
}
