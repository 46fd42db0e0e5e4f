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
//! The breakpoints are the processor's, and each thread has its own: no code changes, and no call
//! is missed while another thread executes the function. One of them is at the function that the
//! dynamic linker calls for debuggers, when files are mapped or unmapped.
//!
//! If the kernel refuses a breakpoint, threads make single steps outside, too: none is missed.

use std::io;

use super::branch::Memory;
use super::maps;
use super::memory::OwnMemory;
use super::ptrace::{self, Breakpoints, Registers, Stop, Tid};
use super::status::is_gone;
use super::traced_calls::{Call, Calls, Frame, Part, Traced, TracedCalls};
use super::tracer::Tracer;
use crate::recording::SpaceId;

impl Tracer {
    /// Traces only some parts of the execution. Call it before the first [`step`](Self::step).
    ///
    /// Between them, threads run without stops.
    pub fn trace_calls(&mut self, traced: TracedCalls) {
        self.calls = Some(Calls::new(traced));
    }

    /// Returns the number of calls or scopes so far, or `None` if no process has had the function.
    #[must_use]
    pub fn traced_calls(&self) -> Option<u64> {
        self.calls.as_ref().filter(|calls| calls.is_found).map(|calls| calls.count)
    }

    /// Returns how many functions of that name a process has had beyond those that are traced: the
    /// processor has breakpoints for three.
    #[must_use]
    pub fn unwatched_functions(&self) -> usize {
        self.calls.as_ref().map_or(0, |calls| calls.unwatched)
    }

    /// Returns whether a process has had an indirect function of that name: one that chooses
    /// another one when the program starts, such as `strlen` in many C libraries. Its calls are
    /// those of the other one, which has another name.
    #[must_use]
    pub fn has_indirect_function(&self) -> bool {
        self.calls.as_ref().is_some_and(|calls| calls.has_indirect)
    }

    /// Returns why threads make single steps between the traced parts: the kernel has refused the
    /// processor's breakpoints, or they are not used.
    #[must_use]
    pub fn breakpoint_refusal(&self) -> Option<&io::Error> {
        self.calls.as_ref().and_then(|calls| calls.refusal.as_ref())
    }

    /// Searches the current mappings of an address space for the function. Returns whether it is
    /// elsewhere than before.
    pub(super) fn search(&mut self, id: SpaceId, tid: Tid) -> bool {
        let (Some(calls), Some(space)) = (&mut self.calls, self.spaces.get_mut(&id)) else {
            return false;
        };
        space.read_mappings(tid, &mut self.notes);
        let places = calls.places(space.mappings());
        std::mem::replace(&mut space.places, places) != space.places
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
        // The kernel may refuse breakpoints to some threads only.
        let makes_steps = thread.watch.is_skipping;
        if makes_steps && stop == Stop::Step {
            return self.stepped_outside(tid, registers);
        }
        thread.moved(registers);
        let is_ours = thread.watch.breakpoints.contains(&Some(registers.ip));
        match stop {
            Stop::Signal(signal) => thread.signal = thread.mask.filter(signal),
            Stop::HardwareBreakpoint if is_ours => return self.reached(tid, registers),
            // That of `run_outside`.
            Stop::Step if self.is_stopping => {}
            // Those of the program itself.
            Stop::HardwareBreakpoint | Stop::Breakpoint | Stop::Step => {
                thread.signal = libc::SIGTRAP;
            }
            Stop::Handler if makes_steps => return self.reached(tid, registers),
            Stop::NewTask(new) => self.expect(new),
            _ => {}
        }
        Ok(())
    }

    /// A thread without breakpoints has made a step.
    fn stepped_outside(&mut self, tid: Tid, registers: Registers) -> io::Result<()> {
        let Some(thread) = self.threads.get_mut(&tid) else { return Ok(()) };
        let Some(space) = self.spaces.get(&thread.space) else { return Ok(()) };
        // A handler that interrupts the thread at the function returns to it.
        let is_reached = registers.ip != thread.ip && !thread.has_fetched_far();
        let was_executed = thread.stepped_untraced(space, registers);
        self.count(was_executed.into());
        match is_reached {
            true => self.reached(tid, registers),
            false => Ok(()),
        }
    }

    /// A thread has reached a breakpoint, or is where it would be.
    fn reached(&mut self, tid: Tid, registers: Registers) -> io::Result<()> {
        self.check_linker(tid, registers.ip);
        let space = self.threads.get(&tid).and_then(|thread| self.spaces.get(&thread.space));
        match space.and_then(|space| space.places.part(registers.ip)) {
            Some(part) => self.called(tid, part, registers),
            None => Ok(()),
        }
    }

    /// A thread is at `ip`. If the dynamic linker has mapped or unmapped files, the other threads
    /// of the address space are stopped, so that they get other breakpoints.
    fn check_linker(&mut self, found_by: Tid, ip: u64) {
        let Some(id) = self.threads.get(&found_by).map(|thread| thread.space) else { return };
        let linker = self.spaces.get(&id).and_then(|space| space.places.linker);
        if linker != Some(ip) || !self.search(id, found_by) {
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
    fn called(&mut self, tid: Tid, part: Part, registers: Registers) -> io::Result<()> {
        let (Some(calls), false) = (&mut self.calls, self.is_stopping) else { return Ok(()) };
        calls.count += 1;
        if calls.traced.nth.is_some_and(|nth| nth != calls.count) {
            return Ok(());
        }
        // Steps would stop at it again.
        self.set_breakpoints(tid, Breakpoints::default())?;
        let Some(calls) = &self.calls else { return Ok(()) };
        let Some(thread) = self.threads.get_mut(&tid) else { return Ok(()) };
        thread.watch.call = Some(match &calls.traced.of {
            Traced::Function(_) => Call::Frame(Frame {
                return_to: OwnMemory(tid).read(registers.sp),
                sp: registers.sp,
                stack_end: maps::end_of(tid, registers.sp),
                is_elsewhere: false,
            }),
            Traced::Scopes => Call::Scopes { begin: part.begin, end: part.end, depth: 1 },
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
        self.check_linker(tid, registers.ip);
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
        let breakpoints = space.map(|space| space.places.breakpoints()).unwrap_or_default();
        let has_breakpoints = self.set_breakpoints(tid, breakpoints)?;
        let Some(thread) = self.threads.get_mut(&tid) else { return Ok(()) };
        thread.watch.is_skipping = !has_breakpoints;
        if thread.watch.is_skipping {
            return self.resume_by_steps(tid);
        }
        let signal = std::mem::take(&mut thread.signal);
        self.show_trap(tid)?;
        ptrace::run_freely(tid, signal)
    }

    /// Sets the breakpoints of a thread. Returns whether it has them: if the kernel refuses them,
    /// all threads make single steps from now on.
    fn set_breakpoints(&mut self, tid: Tid, addresses: Breakpoints) -> io::Result<bool> {
        let Some(calls) = &mut self.calls else { return Ok(false) };
        let Some(thread) = self.threads.get_mut(&tid) else { return Ok(false) };
        if calls.refusal.is_none() && thread.watch.breakpoints == addresses {
            return Ok(true);
        }
        if calls.refusal.is_none() {
            match (calls.set_breakpoints)(tid, &addresses) {
                Ok(()) => {
                    thread.watch.breakpoints = addresses;
                    return Ok(true);
                }
                Err(error) if is_gone(&error) => return Err(error),
                Err(error) => calls.refusal = Some(error),
            }
        }
        if std::mem::take(&mut thread.watch.breakpoints) != Breakpoints::default() {
            // A step must not stop at them again.
            ptrace::set_breakpoints(tid, &Breakpoints::default())?;
        }
        Ok(false)
    }
}
