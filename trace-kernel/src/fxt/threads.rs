//! Names and processes of threads.

use foldhash::HashSet;
use trace_format::layout::{cut_str, ObjectType, MAX_STRING_BYTES};
use trace_format::{Argument, KernelObject, ThreadKoids, Value, WriteError};

use super::sink::RecordSink;
use crate::by_thread::ByThread;
use crate::format::text;

/// The most threads whose name and process are remembered.
const MAX_THREADS: usize = 1 << 16;

/// The argument of the name of a thread that is outside of the scope.
const PARTIAL: &str = "partial";

/// The process and the name of each thread.
#[derive(Debug, Default)]
pub struct Threads {
    named: ByThread<Named>,
    /// The threads whose events are all recorded, or `None` for all threads.
    scope: Option<HashSet<u64>>,
}

/// A thread.
#[derive(Debug, Default)]
struct Named {
    process: Option<u64>,
    name: Box<str>,
    /// The field of the last event that had this name; zeros if the name has another source.
    comm: Comm,
}

/// The name of a thread in an event, with its bytes behind the first zero.
pub(crate) type Comm = [u8; 16];

impl Threads {
    /// Returns the koids of a thread; its process is 0 if it is unknown.
    #[inline]
    #[must_use]
    pub fn koids(&self, thread: u64) -> ThreadKoids {
        let process = self.named.get(thread).and_then(|known| known.process);
        ThreadKoids::new(process.unwrap_or(0), thread)
    }

    /// Limits the scope to these threads and those that they create. Names of other threads are
    /// marked, because only their switches from and to threads of the scope are recorded.
    pub(super) fn limit(&mut self, threads: impl IntoIterator<Item = u64>) {
        self.scope = Some(threads.into_iter().collect());
    }

    /// Adds threads to the scope. Their names are written again, without the mark.
    pub(super) fn include(&mut self, threads: impl IntoIterator<Item = u64>) {
        let Some(scope) = &mut self.scope else { return };
        for thread in threads {
            if let (true, Some(known)) = (scope.insert(thread), self.named.get_mut(thread)) {
                (known.name, known.comm) = Default::default();
            }
        }
    }

    /// Returns whether only the events of some threads are recorded.
    pub(super) fn is_limited(&self) -> bool {
        self.scope.is_some()
    }

    /// Returns the threads whose events are all recorded, or `None` for all threads.
    #[cfg(target_os = "linux")]
    pub(super) fn scope(&self) -> Option<impl Iterator<Item = u64> + '_> {
        self.scope.as_ref().map(|scope| scope.iter().copied())
    }

    /// Returns the name of a thread, empty if it is unknown.
    pub(super) fn name(&self, thread: u64) -> Box<str> {
        self.named.get(thread).map(|known| known.name.clone()).unwrap_or_default()
    }

    /// Returns whether all events of a thread are recorded.
    pub(super) fn is_in_scope(&self, thread: u64) -> bool {
        is_in(&self.scope, thread)
    }

    /// Adds a new thread to the scope if its creator is in it.
    pub(super) fn adopt(&mut self, child: u64, creator: u64) {
        if let Some(scope) = &mut self.scope {
            if scope.contains(&creator) {
                scope.insert(child);
            } else {
                scope.remove(&child);
            }
        }
    }

    /// Removes a thread that ends from the scope: its id may be used again.
    pub(super) fn leave(&mut self, thread: u64) {
        if let Some(scope) = &mut self.scope {
            scope.remove(&thread);
        }
    }

    /// Sets the process of a thread whose name is not known yet.
    pub(super) fn set_process(&mut self, thread: u64, process: u64) {
        if self.named.len() < MAX_THREADS {
            self.named.entry(thread).process = Some(process);
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
        if self.named.len() >= MAX_THREADS && self.named.get(thread).is_none() {
            return Ok(process);
        }
        let known = self.named.entry(thread);
        let process = process.or(known.process);
        let name = match name {
            "" | "<...>" => &*known.name,
            name => cut_str(name, MAX_STRING_BYTES),
        };
        if (known.process, &*known.name) == (process, name) {
            return Ok(process);
        }
        if thread != 0 && !name.is_empty() {
            let process = process.map(|koid| Argument::new("process", Value::Koid(koid)));
            let is_partial = !is_in(&self.scope, thread);
            let partial = is_partial.then(|| Argument::new(PARTIAL, Value::Bool(true)));
            let arguments: Vec<_> = process.into_iter().chain(partial).collect();
            let (object_type, arguments) = (ObjectType::THREAD, arguments[..].into());
            let name = name.into();
            archive.record(&KernelObject { object_type, koid: thread, name, arguments }.into())?;
        }
        *known = Named { process, name: name.into(), comm: Comm::default() };
        Ok(process)
    }

    /// Like [`note`](Self::note), by the field of an event. Costs a comparison if the field is that
    /// of the last event of the thread. The names of idle threads are ignored.
    #[inline]
    pub(super) fn note_comm<S: RecordSink>(
        &mut self,
        archive: &mut S,
        thread: u64,
        comm: &Comm,
    ) -> Result<(), WriteError> {
        match self.named.get_mut(thread) {
            _ if thread == 0 => Ok(()),
            Some(known) if known.comm == *comm => Ok(()),
            _ => self.note_new_comm(archive, thread, comm),
        }
    }

    #[cold]
    fn note_new_comm<S: RecordSink>(
        &mut self,
        archive: &mut S,
        thread: u64,
        comm: &Comm,
    ) -> Result<(), WriteError> {
        self.note(archive, thread, None, text(comm))?;
        if let Some(known) = self.named.get_mut(thread) {
            known.comm = *comm;
        }
        Ok(())
    }

    /// Forgets a thread that has ended: its id may be used again.
    pub fn remove(&mut self, thread: u64) {
        self.named.remove(thread);
    }
}

fn is_in(scope: &Option<HashSet<u64>>, thread: u64) -> bool {
    scope.as_ref().is_none_or(|scope| scope.contains(&thread))
}
