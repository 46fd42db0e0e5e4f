//! `trace insn record --snapshot`: the newest packets are kept in memory, and written when a
//! condition holds.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

use anyhow::{Context, Result};
use trace_insntrace::recording::{Note, Ring};
use trace_insntrace::step::{Executed, Tracer};
use trace_insntrace::symbols;

use super::files::Files;
use super::report::indirect;
use crate::cli::{InsnRecordArgs, InsnSnapshot};
use crate::message::counted;
use crate::say;

/// Requests of snapshots that have no answer yet, of any thread.
#[derive(Debug, Clone, Default)]
pub(super) struct Requests(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    all: AtomicU64,
    /// Those of the session, which knows their number at its end.
    of_session: AtomicU64,
    /// Whether the recorder of the session sends the signals.
    has_recorder: AtomicBool,
}

impl Requests {
    /// Signals come from the recorder of the session. Otherwise they are those of a user.
    pub(super) fn have_recorder(&self) {
        self.0.has_recorder.store(true, Ordering::Relaxed);
    }

    /// Adds the request of a signal.
    pub(super) fn add_signal(&self) {
        match self.0.has_recorder.load(Ordering::Relaxed) {
            true => self.add_of_session(),
            false => _ = self.0.all.fetch_add(1, Ordering::Release),
        }
    }

    /// Adds a request of the session.
    pub(super) fn add_of_session(&self) {
        self.0.of_session.fetch_add(1, Ordering::Relaxed);
        self.0.all.fetch_add(1, Ordering::Release);
    }

    /// Returns the number of requests of the session since the last call, or `None` if there were
    /// no requests. One snapshot answers all of them.
    pub(super) fn take(&self) -> Option<u64> {
        let all = self.0.all.swap(0, Ordering::Acquire);
        (all > 0).then(|| self.0.of_session.swap(0, Ordering::Relaxed))
    }
}

/// Writes snapshots.
pub(super) struct Snapshots<'a> {
    directory: &'a Path,
    ring: Ring,
    /// The functions that have not been called yet.
    functions: Vec<String>,
    /// Where they begin, in any process.
    starts: HashSet<(u64, String)>,
    /// Those that choose another function when the program starts.
    indirect: HashSet<String>,
    /// Whether something else may request snapshots.
    has_others: bool,
    requests: Requests,
    /// How many requests of the session were answered.
    answered: u64,
    written: u64,
}

impl<'a> Snapshots<'a> {
    /// Returns `None` if all packets are to be written. A snapshot is written once there are
    /// `requests`.
    pub(super) fn new(args: &'a InsnRecordArgs, requests: &Requests) -> Result<Option<Self>> {
        if args.snapshot.is_empty() {
            return Ok(None);
        }
        let functions: Vec<_> = args.snapshot.iter().filter_map(InsnSnapshot::function).collect();
        let directory = &args.output;
        fs::create_dir_all(directory)
            .with_context(|| format!("cannot create {}", directory.display()))?;
        Ok(Some(Self {
            directory,
            ring: Ring::new(
                usize::try_from(args.ring_kib()).unwrap_or(usize::MAX).saturating_mul(1024),
            ),
            has_others: functions.len() != args.snapshot.len(),
            functions,
            starts: HashSet::new(),
            indirect: HashSet::new(),
            requests: requests.clone(),
            answered: 0,
            written: 0,
        }))
    }

    /// An instruction was executed. Returns whether further snapshots are possible.
    pub(super) fn executed(&mut self, tracer: &mut Tracer, executed: Executed) -> Result<bool> {
        self.take_notes(tracer);
        let called = self.starts.iter().find(|(start, _)| *start == executed.ip);
        let called = called.map(|(_, name)| name.clone());
        let requests = self.requests.take();
        if let Some(name) = &called {
            self.functions.retain(|function| function != name);
            self.starts.retain(|(_, function)| function != name);
        }
        if called.is_some() || requests.is_some() {
            self.answered += requests.unwrap_or(0);
            self.write(tracer)?;
        }
        Ok(!self.ring.is_full() && (self.has_others || !self.functions.is_empty()))
    }

    fn take_notes(&mut self, tracer: &mut Tracer) {
        for note in tracer.take_notes() {
            if let Note::Mapping { mapping, .. } = &note {
                for name in &self.functions {
                    let found = symbols::find(mapping, name);
                    let starts = found.addresses.into_iter().map(|(start, _)| start);
                    self.starts.extend(starts.map(|start| (start, name.clone())));
                    self.indirect.extend(found.is_indirect.then(|| name.clone()));
                }
            }
            self.ring.note(note);
        }
    }

    /// Keeps what the tracer has.
    pub(super) fn keep(&mut self, tracer: &mut Tracer) {
        self.take_notes(tracer);
        for (trace, packets) in tracer.take_packets() {
            self.ring.packets(trace, &packets);
        }
    }

    /// Writes a recording of the newest packets.
    fn write(&mut self, tracer: &mut Tracer) -> Result<()> {
        tracer.end_packets();
        self.keep(tracer);
        self.written += 1;
        let directory = self.path(self.written);
        let (notes, packets) = self.ring.snapshot();
        let mut files = Files::create(&directory)?;
        files.write(notes, packets)?;
        files.finish()?;
        say(&format!("snapshot written to {}", directory.display()));
        Ok(())
    }

    fn path(&self, number: u64) -> PathBuf {
        self.directory.join(format!("snapshot-{number}"))
    }

    /// Removes what was written before tracing began.
    pub(super) fn discard(self) {
        // The reason for discarding is the error to report.
        let _ = fs::remove_dir(self.directory);
    }

    /// Writes a snapshot that was requested last, and reports their number. `known` is the number
    /// of requests of the session.
    pub(super) fn finish(mut self, tracer: &mut Tracer, known: u64) -> Result<()> {
        if self.requests.take().is_some() || self.answered < known {
            self.write(tracer)?;
        }
        self.report();
        Ok(())
    }

    /// Reports the number of snapshots, and what they lack.
    pub(super) fn report(&self) {
        say(&counted(self.written, "snapshot", "snapshots"));
        if self.ring.is_full() {
            say("there is too much code for snapshots: the program continues untraced");
        }
        if self.ring.dropped() != 0 {
            let threads = counted(self.ring.dropped(), "thread", "threads");
            say(&format!("{threads} that ended first: later snapshots do not have them"));
        }
        for function in &self.functions {
            match self.indirect.contains(function) {
                true => say(&indirect(function)),
                false => say(&format!("{function} was not called")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_is_counted_once() {
        let requests = Requests::default();
        let other = requests.clone();
        assert_eq!(requests.take(), None);
        requests.add_of_session();
        other.add_of_session();
        assert_eq!((requests.take(), other.take()), (Some(2), None));
    }

    #[test]
    fn signals_of_a_user_are_no_requests_of_the_session() {
        let requests = Requests::default();
        requests.add_signal();
        assert_eq!(requests.take(), Some(0));
        requests.clone().have_recorder();
        requests.add_signal();
        assert_eq!((requests.take(), requests.take()), (Some(1), None));
    }
}
