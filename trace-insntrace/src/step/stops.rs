//! The loop of a tracer: what a stop means, and how its thread continues.

use std::io;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

use super::calls::EVERYTHING;
use super::code::Space;
use super::encoder::Encoder;
use super::options::Engine;
use super::ptrace::{self, Registers, Stop, Tid};
use super::status::{
    gone, has_pending_trap, is_gone, lacks_privileges, name_of, panicked, process_of, traced_by_us,
};
use super::thread::Thread;
use super::tracer::Tracer;
use super::tripwire;
use crate::recording::{Note, SpaceId, ThreadEnd, TraceId};

impl Tracer {
    /// Waits for a stop, and continues the thread. Returns whether there may be another stop.
    pub(super) fn handle_stop(&mut self) -> io::Result<bool> {
        if let Some((tid, stop)) = self.stops.pop_front() {
            return self.handle_one(tid, stop);
        }
        if self.threads.is_empty() {
            self.expected.retain(|tid| traced_by_us(*tid).unwrap_or(true));
        }
        if self.threads.is_empty() && self.expected.is_empty() {
            return Ok(false);
        }
        let Some((tid, stop)) = ptrace::wait_any()? else { return Ok(false) };
        self.handle_one(tid, stop)
    }

    fn handle_one(&mut self, tid: Tid, stop: Stop) -> io::Result<bool> {
        // After a panic, too, the thread is stopped and has to be released.
        match catch_unwind(AssertUnwindSafe(|| self.handle(tid, stop))) {
            Ok(Err(error)) if !is_gone(&error) => self.give_up(tid, stop, error),
            Ok(_) => {}
            Err(panic) => {
                self.panic.get_or_insert(panic);
                self.give_up(tid, stop, panicked());
            }
        }
        match self.panic.take() {
            Some(panic) => resume_unwind(panic),
            None => Ok(true),
        }
    }

    /// Does what must not keep a thread from being released: errors are ignored, and a panic is
    /// resumed at the end of the stop.
    fn attempt(&mut self, action: impl FnOnce(&mut Self) -> io::Result<()>) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| action(self))) {
            self.panic.get_or_insert(panic);
        }
    }

    fn handle(&mut self, tid: Tid, stop: Stop) -> io::Result<()> {
        match stop {
            Stop::Exited(status) => {
                self.ended(tid, ThreadEnd::Exited(status));
                Ok(())
            }
            Stop::Killed(signal) => {
                self.ended(tid, ThreadEnd::Killed(signal));
                Ok(())
            }
            Stop::Exec(former) => self.exec(tid, former).and_then(|()| self.resume(tid)),
            _ if self.tripwire == Some(tid) => {
                self.is_woken = true;
                tripwire::wake(tid)
            }
            _ if self.is_stopping && !self.threads.contains_key(&tid) => self.release(tid, stop),
            _ => self.stopped(tid, stop),
        }
    }

    fn stopped(&mut self, tid: Tid, stop: Stop) -> io::Result<()> {
        if !self.threads.contains_key(&tid) {
            if self.is_foreign(tid)? {
                return self.release(tid, stop);
            }
            self.adopt(tid, false)?;
        }
        self.apply(tid, stop)?;
        match stop {
            Stop::Group if !self.is_stopping => ptrace::listen(tid),
            _ => self.resume(tid),
        }
    }

    /// Releases a thread that cannot be traced. The others are still traced.
    fn give_up(&mut self, tid: Tid, mut stop: Stop, error: io::Error) {
        self.untraced += 1;
        self.untraced_reason.get_or_insert(error);
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.run.is_running = false;
        }
        // Untraced, it must not meet a breakpoint. Whatever fails, the thread has to be released.
        self.attempt(|tracer| tracer.step_only(tid));
        if self.threads.contains_key(&tid) && has_pending_trap(tid) {
            self.attempt(|tracer| tracer.report_breakpoint(tid));
        }
        if self.threads.get(&tid).is_some_and(|thread| thread.run.is_moved) {
            stop = Stop::Trap;
            // This fails only if the thread has ended.
            let _ = self.write_registers(tid);
        }
        if let Some(mut thread) = self.threads.remove(&tid) {
            thread.mask.restore(thread.pid, tid);
            self.finish(thread, ThreadEnd::Detached);
        }
        // This fails only if the thread has ended.
        let _ = self.release(tid, stop);
    }

    /// Waits for the pending report of a breakpoint that a stopped thread has executed.
    fn report_breakpoint(&mut self, tid: Tid) -> io::Result<()> {
        ptrace::step(tid, 0)?;
        while let Some((stopped, stop)) = ptrace::wait_any()? {
            if stopped != tid {
                self.queue(stopped, stop);
                continue;
            }
            match stop {
                Stop::Trap if has_pending_trap(tid) => ptrace::step(tid, 0)?,
                Stop::Breakpoint => {
                    let registers = ptrace::registers(tid)?;
                    self.hit(tid, registers);
                    break;
                }
                Stop::Exited(_) | Stop::Killed(_) | Stop::Exec(_) => {
                    self.queue(tid, stop);
                    break;
                }
                _ => break,
            }
        }
        Ok(())
    }

    /// Returns whether a thread is one of a process that is not to be traced. Its memory has no
    /// breakpoints: they are removed while a system call creates it.
    fn is_foreign(&self, tid: Tid) -> io::Result<bool> {
        Ok(match self.only {
            Some(only) => process_of(tid)? != only,
            None => false,
        })
    }

    /// Continues a thread without a trace, untraced.
    fn release(&mut self, tid: Tid, stop: Stop) -> io::Result<()> {
        self.expected.remove(&tid);
        self.borrowers.remove(&tid);
        let signal = match stop {
            Stop::Signal(signal) => signal,
            Stop::Breakpoint => libc::SIGTRAP,
            _ => 0,
        };
        if let Stop::NewTask(new) = stop {
            self.expect(new);
        }
        // These fail only if the thread has ended.
        let registers = ptrace::registers(tid);
        let _ = registers.and_then(|mut found| self.clear_copied_flag(tid, &mut found));
        ptrace::detach(tid, signal)
    }

    pub(super) fn expect(&mut self, new: Tid) {
        if !self.threads.contains_key(&new) {
            self.expected.insert(new);
        }
    }

    /// Applies a stop to the state of its thread.
    fn apply(&mut self, tid: Tid, stop: Stop) -> io::Result<()> {
        let mut registers = ptrace::registers(tid)?;
        self.clear_copied_flag(tid, &mut registers)?;
        let stop = self.own_trap(tid, stop, &registers);
        let Some(stop) = self.without_mask_calls(tid, stop)? else { return Ok(()) };
        self.end_call(tid, stop);
        if self.is_outside(tid) {
            return self.apply_outside(tid, stop, registers);
        }
        match stop {
            Stop::Step => self.stepped(tid, registers),
            Stop::Breakpoint if self.hit(tid, registers) => {}
            Stop::Breakpoint | Stop::HardwareBreakpoint => {
                self.interrupted(tid, registers, libc::SIGTRAP);
            }
            Stop::Signal(signal) => self.interrupted(tid, registers, signal),
            Stop::SystemCall => self.calls(tid, registers),
            Stop::Handler => {
                let Some(thread) = self.threads.get_mut(&tid) else { return Ok(()) };
                let Some(space) = self.spaces.get(&thread.space) else { return Ok(()) };
                thread.handles(space, registers);
                thread.run.is_between = true;
            }
            Stop::NewTask(new) => self.expect(new),
            _ => self.pauses(tid, registers),
        }
        self.check_call(tid, stop);
        Ok(())
    }

    /// A thread has executed an instruction.
    fn stepped(&mut self, tid: Tid, registers: Registers) {
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        let Some(space) = self.spaces.get_mut(&thread.space) else { return };
        let (notes, executed) = (&mut self.notes, &mut self.executed);
        let was_executed = thread.stepped(space, registers, notes, executed);
        thread.run.is_between = true;
        self.count(was_executed.into());
    }

    /// A signal stops a thread, before an instruction or at the end of one.
    fn interrupted(&mut self, tid: Tid, registers: Registers, signal: i32) {
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        let Some(space) = self.spaces.get_mut(&thread.space) else { return };
        let (notes, executed) = (&mut self.notes, &mut self.executed);
        let count = thread.arrive(space, registers.ip, notes, executed);
        thread.interrupted(space, registers, notes, executed);
        thread.signal = thread.mask.filter(signal);
        self.count(count);
    }

    /// Begins the trace of a stopped thread. If `leaves_exec`, it has just executed a program.
    fn adopt(&mut self, tid: Tid, leaves_exec: bool) -> io::Result<()> {
        let registers = ptrace::registers(tid)?;
        let pid = process_of(tid)?;
        let shared = self.threads.values().find(|thread| thread.pid == pid);
        let space = match shared.map(|thread| thread.space) {
            Some(space) => space,
            None => {
                let is_excluded = self.is_excluded(tid);
                self.borrowers.remove(&tid);
                self.open_space(tid, is_excluded)?
            }
        };
        let Some(space) = self.spaces.get(&space) else { return Err(gone()) };
        let trace = TraceId(self.next_trace);
        self.next_trace += 1;
        let encoder = Encoder::new(&self.options);
        let mut thread = Thread::new((trace, tid, pid), space, encoder, leaves_exec);
        thread.moved(registers);
        self.notes.push(note_of(&thread));
        self.notes.push(Note::Position { trace, offset: 0, space: space.id() });
        self.threads.insert(tid, thread);
        self.expected.remove(&tid);
        Ok(())
    }

    fn open_space(&mut self, tid: Tid, steps_only: bool) -> io::Result<SpaceId> {
        let id = SpaceId(self.next_space);
        let mut space = Space::open(id, tid, self.options.ranges.clone())?;
        space.blocks.steps_only = steps_only;
        self.spaces.insert(id, space);
        self.next_space += 1;
        self.search(id, tid);
        Ok(id)
    }

    /// The thread `former` has executed a program, and is now the thread `tid`.
    fn exec(&mut self, tid: Tid, former: Tid) -> io::Result<()> {
        if tid != former {
            // The leader's thread ended, but not the process.
            self.expected.remove(&tid);
            if let Some(leader) = self.threads.remove(&tid) {
                self.finish(leader, ThreadEnd::Exited(0));
            }
        }
        self.unprivileged.extend(lacks_privileges(tid));
        let Some(mut thread) = self.threads.remove(&former) else {
            return self.adopt(tid, true);
        };
        let opened =
            ptrace::registers(tid).and_then(|found| Ok((found, self.open_space(tid, false)?)));
        let (registers, id) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                self.finish(thread, ThreadEnd::Detached);
                return Err(error);
            }
        };
        let (old, was_inside) = (thread.space, thread.watch.is_inside());
        if let Some(space) = self.spaces.get(&id) {
            let (notes, executed) = (&mut self.notes, &mut self.executed);
            let old = self.spaces.get(&old);
            let was_executed = thread.exec(old, space, registers, notes, executed);
            self.count(was_executed.into());
        }
        thread.tid = tid;
        self.notes.push(note_of(&thread));
        self.threads.insert(tid, thread);
        self.close_space(old);
        if was_inside {
            self.end_call_of_function();
        }
        Ok(())
    }

    fn ended(&mut self, tid: Tid, end: ThreadEnd) {
        self.expected.remove(&tid);
        if self.tripwire == Some(tid) {
            self.tripwire = None;
            return self.begin_stop();
        }
        if self.child.as_ref().is_some_and(|child| child.id() as i32 == tid.0) {
            self.child_end = Some(end);
        }
        if let Some(thread) = self.threads.remove(&tid) {
            self.finish(thread, end);
        }
    }

    /// Ends the trace of a thread.
    fn finish(&mut self, mut thread: Thread, end: ThreadEnd) {
        if let Some(space) = self.spaces.get_mut(&thread.space) {
            space.blocks.end_change(thread.tid);
        }
        // Whatever its packets are, the thread has ended or is released.
        self.attempt(|tracer| {
            let space = tracer.spaces.get(&thread.space);
            let was_executed = thread.ended(space, end, &mut tracer.executed);
            tracer.count(was_executed.into());
            Ok(())
        });
        self.notes.push(Note::End { trace: thread.trace, end });
        self.finished.push((thread.trace, thread.encoder.take()));
        self.close_space(thread.space);
        if thread.watch.is_inside() {
            self.end_call_of_function();
        }
    }

    fn close_space(&mut self, space: SpaceId) {
        if !self.threads.values().any(|thread| thread.space == space) {
            self.spaces.remove(&space);
        }
    }

    /// Continues a stopped thread, untraced if tracing stops.
    pub(super) fn resume(&mut self, tid: Tid) -> io::Result<()> {
        if self.is_stopping && !has_pending_trap(tid) {
            self.write_registers(tid)?;
            let Some(mut thread) = self.threads.remove(&tid) else { return Ok(()) };
            thread.mask.restore(thread.pid, tid);
            let signal = thread.signal;
            self.finish(thread, ThreadEnd::Detached);
            return ptrace::detach(tid, signal);
        }
        if self.threads.get(&tid).is_some_and(|thread| thread.mask.is_in_call()) {
            return self.run_call(tid);
        }
        if self.is_outside(tid) {
            return self.run_outside(tid);
        }
        match self.options.engine {
            Engine::Step => self.resume_by_steps(tid),
            Engine::Block => self.resume_by_blocks(tid),
        }
    }

    /// Continues a stopped thread by a step.
    pub(super) fn resume_by_steps(&mut self, tid: Tid) -> io::Result<()> {
        self.write_registers(tid)?;
        let Some(thread) = self.threads.get_mut(&tid) else { return Ok(()) };
        if let Some(registers) = thread.take_loaded_flags() {
            return ptrace::stop_again(tid, registers);
        }
        if let Some(space) = self.spaces.get_mut(&thread.space) {
            thread.prepare(space, &mut self.notes);
        }
        self.prepare_call(tid)?;
        let runs = self.prepare_mask(tid)?;
        let Some(thread) = self.threads.get_mut(&tid) else { return Ok(()) };
        thread.run.step();
        match std::mem::take(&mut thread.signal) {
            _ if thread.mask.is_in_call() => self.run_call(tid),
            // Signals are delivered by steps.
            _ if runs => ptrace::run(tid),
            signal => ptrace::step(tid, signal),
        }
    }

    pub(super) fn begin_stop(&mut self) {
        if std::mem::replace(&mut self.is_stopping, true) {
            return;
        }
        let spaces: Vec<_> = self.spaces.keys().copied().collect();
        for space in spaces {
            // The breakpoints are removed even if a thread cannot be stopped.
            let _ = self.remove_breakpoints(space, EVERYTHING);
        }
        for tid in self.threads.keys() {
            // A thread that has ended is reported later.
            let _ = ptrace::interrupt(*tid);
        }
    }
}

fn note_of(thread: &Thread) -> Note {
    Note::Thread {
        trace: thread.trace,
        pid: thread.pid as u32,
        tid: thread.tid.0 as u32,
        name: name_of(thread.tid),
    }
}

#[cfg(test)]
mod tests {
    use std::hint::spin_loop;
    use std::io::Read;
    use std::process::{Child, Command, Stdio};

    use rustix::process::{kill_process, Pid, Signal};

    use super::*;
    use crate::step::Options;

    /// Starts a shell that executes code until SIGTERM, and then ends with 3.
    fn shell() -> Child {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "trap 'exit 3' TERM; echo x; while :; do :; done"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        child
    }

    /// Traces until a thread is stopped behind a breakpoint whose report is next.
    fn stop_behind_breakpoint(tracer: &mut Tracer) -> Tid {
        for delay in (0..20_000).step_by(37).cycle() {
            (0..delay).for_each(|_| spin_loop());
            for tid in tracer.threads.keys() {
                ptrace::interrupt(*tid).unwrap();
            }
            let (tid, stop) = ptrace::wait_any().unwrap().unwrap();
            let is_running = tracer.threads.get(&tid).is_some_and(|it| it.run.is_running);
            if stop == Stop::Trap && is_running && has_pending_trap(tid) {
                return tid;
            }
            tracer.handle_one(tid, stop).unwrap();
        }
        unreachable!()
    }

    #[test]
    #[ignore = "waits for a rare stop: up to a minute on a busy machine"]
    fn a_thread_behind_a_breakpoint_continues_untraced() {
        let mut child = shell();
        let mut tracer = Tracer::attach(child.id(), Options::of_blocks()).unwrap();
        let tid = stop_behind_breakpoint(&mut tracer);
        tracer.give_up(tid, Stop::Trap, io::Error::other("a test"));
        assert_eq!(tracer.untraced().unwrap().0, 1);
        assert!(!tracer.handle_stop().unwrap(), "no thread is left");
        kill_process(Pid::from_child(&child), Signal::Term).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(3));
    }
}
