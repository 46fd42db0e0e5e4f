//! The traced threads, and the interface of the engine.

use std::any::Any;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::fs;
use std::io;
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::process::{Child, Command};

use rustix::process::{kill_process, waitpid, Pid, Signal, WaitOptions};

use super::code::Space;
use super::options::{Engine, Options};
use super::ptrace::{self, Follow, Stop, Tid};
use super::range::{SymbolRange, TracedRange};
use super::spawn;
use super::status::{gone, has_exited, is_gone, panicked, traced_by_us};
use super::thread::{Executed, Thread};
use super::traced_calls::Calls;
use super::tripwire;
use crate::recording::{Note, SpaceId, ThreadEnd, TraceId};

/// Ends tracing when it is dropped; see [`Tracer::stop_handle`].
#[derive(Debug)]
pub struct StopHandle {
    pipe: OwnedFd,
}

impl StopHandle {
    /// Makes [`Tracer::step_or_wake`] return [`Step::Woken`], also while it waits.
    ///
    /// # Errors
    ///
    /// Fails if tracing has ended.
    pub fn wake(&self) -> io::Result<()> {
        rustix::io::write(&self.pipe, &[0]).map(drop).map_err(Into::into)
    }
}

/// What [`Tracer::step_or_wake`] returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// An instruction was executed.
    Executed(Executed),
    /// [`StopHandle::wake`] was called.
    Woken,
    /// No thread is traced any more.
    Ended,
}

/// Executes the threads of processes one instruction at a time, and writes their packets.
///
/// Threads and processes that they create are traced too. If the tracer is dropped, all of them
/// continue untraced.
#[derive(Debug)]
pub struct Tracer {
    pub(super) options: Options,
    pub(super) child: Option<Child>,
    pub(super) child_end: Option<ThreadEnd>,
    pub(super) threads: HashMap<Tid, Thread>,
    pub(super) spaces: HashMap<SpaceId, Space>,
    /// Threads that have not stopped for the first time.
    pub(super) expected: HashSet<Tid>,
    /// Threads that ran when their process was attached to, and some of which may still run.
    pub(super) attaching: HashSet<Tid>,
    /// The only process that is traced.
    pub(super) only: Option<i32>,
    /// New processes that use the memory of another one.
    pub(super) borrowers: HashSet<Tid>,
    /// Stops that were received while others had to be waited for.
    pub(super) stops: VecDeque<(Tid, Stop)>,
    pub(super) tripwire: Option<Tid>,
    /// Whether the handle has woken the tracer.
    pub(super) is_woken: bool,
    /// The calls that are traced, if not all instructions.
    pub(super) calls: Option<Calls>,
    pub(super) is_stopping: bool,
    /// The number of threads that could not be traced.
    pub(super) untraced: u64,
    /// Why the first of them could not be traced.
    pub(super) untraced_reason: Option<io::Error>,
    /// The panic of the stop that is handled.
    pub(super) panic: Option<Box<dyn Any + Send>>,
    /// Programs that were executed without the privileges that their files grant.
    pub(super) unprivileged: BTreeSet<String>,
    pub(super) steps: u64,
    pub(super) next_trace: u32,
    pub(super) next_space: u32,
    pub(super) executed: VecDeque<Executed>,
    pub(super) notes: Vec<Note>,
    /// The last packets of threads that have ended.
    pub(super) finished: Vec<(TraceId, Vec<u8>)>,
    /// Only the thread that began tracing may continue it.
    not_send: PhantomData<*const ()>,
}

impl Tracer {
    /// Starts `command` and stops it before its first instruction. The kernel kills it if the
    /// calling thread ends without [`stop`](Self::stop).
    ///
    /// # Errors
    ///
    /// Fails if the command cannot be started or traced.
    pub fn start(command: &mut Command, options: Options) -> io::Result<Self> {
        let child = spawn::spawn(command)?;
        let mut tracer = Self::new(options);
        tracer.expected.insert(Tid(child.id() as i32));
        tracer.child = Some(child);
        Ok(tracer)
    }

    /// Traces all threads of a process that runs.
    ///
    /// # Errors
    ///
    /// Fails if the process does not exist, or may not be traced.
    pub fn attach(pid: u32, options: Options) -> io::Result<Self> {
        let mut tracer = Self::new(options);
        // Threads that start meanwhile are traced if their creator is.
        while tracer.seize_threads(pid)? {}
        tracer.attaching.clone_from(&tracer.expected);
        Ok(tracer)
    }

    /// Traces all threads of a process that runs, but none of the processes that it creates.
    ///
    /// # Errors
    ///
    /// Fails if the process does not exist, or may not be traced.
    pub fn attach_process(pid: u32, options: Options) -> io::Result<Self> {
        let mut tracer = Self::attach(pid, options)?;
        tracer.only = Some(pid as i32);
        Ok(tracer)
    }

    /// Traces one thread that runs, and none that it creates. Its process may execute a program,
    /// which is traced too.
    ///
    /// # Errors
    ///
    /// Fails if the thread does not exist, or may not be traced, or if the engine is
    /// [`Engine::Block`], whose breakpoints all threads of the process would execute.
    pub fn attach_thread(tid: u32, options: Options) -> io::Result<Self> {
        if options.engine == Engine::Block {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut tracer = Self::new(options);
        let tid = i32::try_from(tid).map(Tid).map_err(|_| gone())?;
        ptrace::seize(tid, Follow::Nothing)?;
        // This fails only if the thread has ended.
        let _ = ptrace::interrupt(tid);
        tracer.expected.insert(tid);
        Ok(tracer)
    }

    fn new(options: Options) -> Self {
        Self {
            options,
            child: None,
            child_end: None,
            threads: HashMap::new(),
            spaces: HashMap::new(),
            expected: HashSet::new(),
            attaching: HashSet::new(),
            only: None,
            borrowers: HashSet::new(),
            stops: VecDeque::new(),
            tripwire: None,
            is_woken: false,
            calls: None,
            is_stopping: false,
            untraced: 0,
            untraced_reason: None,
            panic: None,
            unprivileged: BTreeSet::new(),
            steps: 0,
            next_trace: 0,
            next_space: 0,
            executed: VecDeque::new(),
            notes: Vec::new(),
            finished: Vec::new(),
            not_send: PhantomData,
        }
    }

    /// Seizes the threads of a process that are not traced, and returns whether there were any.
    fn seize_threads(&mut self, pid: u32) -> io::Result<bool> {
        let mut has_new = false;
        let threads = fs::read_dir(format!("/proc/{pid}/task"));
        let threads = threads.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => gone(),
            _ => error,
        })?;
        for entry in threads {
            let Ok(tid) = entry?.file_name().to_string_lossy().parse().map(Tid) else { continue };
            if self.expected.contains(&tid) {
                continue;
            }
            match ptrace::seize(tid, Follow::Created).and_then(|()| ptrace::interrupt(tid)) {
                Ok(()) => has_new |= self.expected.insert(tid),
                Err(error) if is_gone(&error) || traced_by_us(tid)? || has_exited(tid)? => {}
                Err(error) => return Err(error),
            }
        }
        Ok(has_new)
    }

    /// Returns a handle that stops tracing when it is dropped, from any thread, also while
    /// [`step`](Self::step) waits.
    ///
    /// # Errors
    ///
    /// Fails if a pipe or a process cannot be created.
    pub fn stop_handle(&mut self) -> io::Result<StopHandle> {
        let flags = rustix::pipe::PipeFlags::CLOEXEC;
        let (read, write) = rustix::pipe::pipe_with(flags)?;
        self.tripwire = Some(tripwire::spawn(&read, &write)?);
        Ok(StopHandle { pipe: write })
    }

    /// Returns the next executed instruction of any thread, or `None` if no thread is traced any
    /// more. All iterations of a `rep` are one instruction.
    ///
    /// # Errors
    ///
    /// Fails if a system call of ptrace fails.
    pub fn step(&mut self) -> io::Result<Option<Executed>> {
        loop {
            match self.step_or_wake()? {
                Step::Executed(executed) => return Ok(Some(executed)),
                Step::Woken => {}
                Step::Ended => return Ok(None),
            }
        }
    }

    /// Is [`step`](Self::step), but also returns when the handle wakes it: while all threads wait,
    /// or execute instructions that are not traced, too.
    ///
    /// # Errors
    ///
    /// Fails if a system call of ptrace fails.
    pub fn step_or_wake(&mut self) -> io::Result<Step> {
        loop {
            if let Some(executed) = self.executed.pop_front() {
                return Ok(Step::Executed(executed));
            }
            if std::mem::take(&mut self.is_woken) {
                return Ok(Step::Woken);
            }
            if !self.handle_stop()? {
                return Ok(Step::Ended);
            }
        }
    }

    /// Releases all threads, which continue, also after a panic.
    ///
    /// # Errors
    ///
    /// Fails if a system call of ptrace fails, or if there was a panic: all threads are released,
    /// but packets are missing.
    pub fn stop(&mut self) -> io::Result<()> {
        let mut outcome = catch_unwind(AssertUnwindSafe(|| self.begin_stop())).map_err(drop);
        loop {
            // A stop is handled once: after a panic, the others are left.
            match catch_unwind(AssertUnwindSafe(|| self.handle_stop())) {
                Ok(Ok(true)) => {}
                Ok(Ok(false)) => return outcome.map_err(|()| panicked()),
                Ok(Err(error)) => return Err(error),
                Err(_) => outcome = Err(()),
            }
        }
    }

    /// Returns the command, for its pipes. Wait for it with [`wait`](Self::wait).
    pub fn child_mut(&mut self) -> Option<&mut Child> {
        self.child.as_mut()
    }

    /// Returns the end of the command, if it ended while it was traced.
    #[must_use]
    pub fn child_end(&self) -> Option<ThreadEnd> {
        self.child_end
    }

    /// Stops tracing, waits for the command and returns its end. Without a command returns
    /// [`ThreadEnd::Detached`].
    ///
    /// # Errors
    ///
    /// Fails if a system call fails.
    pub fn wait(&mut self) -> io::Result<ThreadEnd> {
        use std::os::unix::process::ExitStatusExt;
        self.stop()?;
        if let Some(end) = self.child_end {
            return Ok(end);
        }
        let Some(child) = &mut self.child else { return Ok(ThreadEnd::Detached) };
        let status = child.wait()?;
        let killed = status.signal().map(ThreadEnd::Killed);
        Ok(killed.unwrap_or(ThreadEnd::Exited(status.code().unwrap_or_default())))
    }

    /// Returns the number of steps so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Returns the number of threads that were released because they cannot be traced, with the
    /// reason for the first one. Such a thread may have executed a program that is not readable.
    #[must_use]
    pub fn untraced(&self) -> Option<(u64, &io::Error)> {
        self.untraced_reason.as_ref().map(|reason| (self.untraced, reason))
    }

    /// Returns the ranges of functions, with what was found so far.
    pub fn symbol_ranges(&self) -> impl Iterator<Item = &SymbolRange> {
        self.options.ranges.iter().filter_map(|range| match range {
            TracedRange::Symbol(symbol) => Some(symbol),
            TracedRange::Addresses(..) => None,
        })
    }

    /// Returns the programs that were executed without the privileges that their files grant to
    /// anyone, such as those of set-user-ID programs. The kernel does not grant them to a program
    /// that is traced, unless its tracer has CAP_SYS_PTRACE.
    pub fn unprivileged(&self) -> impl Iterator<Item = &str> {
        self.unprivileged.iter().map(String::as_str)
    }

    /// Ends the packets of each thread before its next instruction, so that all instructions before
    /// it are decoded. Tracing is on again when that is executed.
    pub fn end_packets(&mut self) {
        for thread in self.threads.values_mut() {
            thread.encoder.turn_off(thread.ip);
        }
    }

    /// Returns the packets written since the last call, by trace.
    #[must_use]
    pub fn take_packets(&mut self) -> Vec<(TraceId, Vec<u8>)> {
        let running = self.threads.values_mut().map(|thread| (thread.trace, thread.encoder.take()));
        let packets = self.finished.drain(..).chain(running);
        packets.filter(|(_, bytes)| !bytes.is_empty()).collect()
    }

    /// Returns the notes about threads and code since the last call.
    #[must_use]
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        // Without a tracer, errors have no receiver.
        let _ = self.stop();
        if let Some(pid) = self.tripwire.and_then(|tid| Pid::from_raw(tid.0)) {
            let _ = kill_process(pid, Signal::Kill);
            let _ = waitpid(Some(pid), WaitOptions::empty());
        }
    }
}
