//! Tracing of the calls of one function, or of announced scopes: threads run without stops until
//! they begin.
//!
//! ```text
//!            breakpoint at the function             the frame of the call is gone,
//!                                                   or the scope ends
//!  outside ──────────────────────────────► inside ──────────────────────────────► outside
//!  no stops                                single steps
//! ```
//!
//! The breakpoint is the processor's, and each thread has its own: no code changes, and no call is
//! missed while another thread executes the function.

use std::io;

use super::branch::Memory;
use super::maps;
use super::memory::OwnMemory;
use super::ptrace::{self, Registers, Stop, Tid};
use super::traced_calls::{Call, Calls, Frame, Place, Traced, TracedCalls};
use super::tracer::Tracer;
use crate::recording::SpaceId;

impl Tracer {
    /// Traces only some parts of the execution. Call it before the first [`step`](Self::step).
    ///
    /// Between them, threads run without stops.
    pub fn trace_calls(&mut self, traced: TracedCalls) {
        self.calls = Some(Calls { traced, count: 0, is_found: false });
    }

    /// Returns the number of calls or scopes so far, or `None` if no process has had the function.
    #[must_use]
    pub fn traced_calls(&self) -> Option<u64> {
        self.calls.as_ref().filter(|calls| calls.is_found).map(|calls| calls.count)
    }

    /// Searches a new address space for the function.
    pub(super) fn begin_search(&mut self, id: SpaceId, tid: Tid) {
        let (Some(calls), Some(space)) = (&self.calls, self.spaces.get_mut(&id)) else { return };
        space.search.traced = Some(calls.traced.of.clone());
        self.search(id, tid);
    }

    fn search(&mut self, id: SpaceId, tid: Tid) {
        let (Some(calls), Some(space)) = (&mut self.calls, self.spaces.get_mut(&id)) else {
            return;
        };
        space.read_mappings(tid, &mut self.notes);
        calls.is_found |= matches!(space.search.place, Place::Function(_));
    }

    /// Returns whether a thread runs outside of the function.
    pub(super) fn is_outside(&self, tid: Tid) -> bool {
        let is_inside = self.threads.get(&tid).is_some_and(|thread| thread.watch.is_inside());
        self.calls.is_some() && !is_inside
    }

    /// Applies a stop of a thread outside of the function.
    pub(super) fn apply_outside(
        &mut self,
        tid: Tid,
        stop: Stop,
        registers: Registers,
    ) -> io::Result<()> {
        let Some(thread) = self.threads.get_mut(&tid) else { return Ok(()) };
        thread.moved(registers);
        let is_ours = thread.watch.breakpoint == Some(registers.ip);
        match stop {
            Stop::Signal(signal) => thread.signal = signal,
            Stop::HardwareBreakpoint if is_ours => return self.reached(tid, registers),
            // That of `run_outside`.
            Stop::Step if self.is_stopping => {}
            // Those of the program itself.
            Stop::HardwareBreakpoint | Stop::Breakpoint | Stop::Step => {
                thread.signal = libc::SIGTRAP;
            }
            Stop::NewTask(new) => self.expect(new),
            _ => {}
        }
        Ok(())
    }

    /// A thread has reached its breakpoint.
    fn reached(&mut self, tid: Tid, registers: Registers) -> io::Result<()> {
        let Some(id) = self.threads.get(&tid).map(|thread| thread.space) else { return Ok(()) };
        match self.spaces.get(&id).map(|space| space.search.place) {
            Some(Place::Function(at)) if at == registers.ip => self.called(tid, registers),
            Some(Place::Linker(_)) => {
                self.search(id, tid);
                self.move_breakpoints(id, tid);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Stops the other threads of an address space in which the function was found, so that they
    /// get its breakpoint.
    fn move_breakpoints(&mut self, id: SpaceId, found_by: Tid) {
        let Some(place) = self.spaces.get(&id).map(|space| space.search.place) else { return };
        if !matches!(place, Place::Function(_)) {
            return;
        }
        for (tid, thread) in &self.threads {
            if thread.space == id && *tid != found_by {
                // A thread that has ended is reported later.
                let _ = ptrace::interrupt(*tid);
            }
        }
    }

    /// A thread has called the function.
    fn called(&mut self, tid: Tid, registers: Registers) -> io::Result<()> {
        let (Some(calls), false) = (&mut self.calls, self.is_stopping) else { return Ok(()) };
        calls.count += 1;
        if calls.traced.nth.is_some_and(|nth| nth != calls.count) {
            return Ok(());
        }
        let Some(thread) = self.threads.get_mut(&tid) else { return Ok(()) };
        let end = self.spaces.get(&thread.space).and_then(|space| space.search.end);
        // Steps would stop at it again.
        ptrace::set_breakpoint(tid, None)?;
        thread.watch.breakpoint = None;
        thread.watch.call = Some(match &calls.traced.of {
            Traced::Function(_) => Call::Frame(Frame {
                return_to: OwnMemory(tid).read(registers.sp),
                sp: registers.sp,
                stack_end: maps::end_of(tid, registers.sp),
                is_elsewhere: false,
            }),
            Traced::Scopes => Call::Scopes { begin: registers.ip, end, depth: 1 },
        });
        thread.begin_call(registers);
        Ok(())
    }

    /// A stopped thread may have left the function.
    pub(super) fn check_call(&mut self, tid: Tid, stop: Stop) {
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        let entered_kernel = thread.has_fetched_far();
        let (Some(call), Some(registers)) = (&mut thread.watch.call, thread.run.registers) else {
            return;
        };
        if call.stopped(stop, &registers, entered_kernel) && thread.end_call() {
            self.end_call_of_function();
        }
    }

    /// The traced call of a thread has ended.
    pub(super) fn end_call_of_function(&mut self) {
        if self.calls.as_ref().is_some_and(|calls| calls.traced.nth.is_some()) {
            self.begin_stop();
        }
    }

    /// Continues a thread outside of the function.
    pub(super) fn run_outside(&mut self, tid: Tid) -> io::Result<()> {
        let Some(thread) = self.threads.get_mut(&tid) else { return Ok(()) };
        if self.is_stopping {
            // It is not released yet, because a report of a step is pending, or may be.
            return ptrace::step(tid, std::mem::take(&mut thread.signal));
        }
        let space = self.spaces.get(&thread.space);
        let address = space.and_then(|space| space.search.address());
        if thread.watch.breakpoint != address {
            ptrace::set_breakpoint(tid, address)?;
            thread.watch.breakpoint = address;
        }
        ptrace::run_freely(tid, std::mem::take(&mut thread.signal))
    }
}
