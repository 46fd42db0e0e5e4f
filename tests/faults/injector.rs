//! A process whose system calls fail on request. Its child processes are not affected.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::{mpsc, Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::calls::{self, Effect};
use super::ptrace::{self, Change, SystemCall, Tracee};

/// A fault: the `nth` call of this number, from 1, has this effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) number: u64,
    pub(crate) nth: u64,
    pub(crate) effect: Effect,
}

/// What the tracing thread and the test share.
#[derive(Debug, Default)]
struct Plan {
    fault: Option<Fault>,
    /// The calls since the last reset, by number.
    calls: BTreeMap<u64, u64>,
    /// Seconds by which the wall clock of the process differs; `None` if it is that of the kernel.
    clock: Option<i64>,
}

/// A traced process.
#[derive(Debug)]
pub(crate) struct Injector {
    pub(crate) pid: u32,
    plan: Arc<Mutex<Plan>>,
    thread: Option<JoinHandle<i32>>,
}

impl Injector {
    /// Starts a process, with a fault from the start if there is one.
    pub(crate) fn spawn(command: Command, fault: Option<Fault>) -> Self {
        Self::spawn_with(command, Plan { fault, ..Plan::default() })
    }

    /// Starts a process whose wall clock can be set.
    pub(crate) fn spawn_with_clock(command: Command) -> Self {
        Self::spawn_with(command, Plan { clock: Some(0), ..Plan::default() })
    }

    fn spawn_with(mut command: Command, plan: Plan) -> Self {
        let plan = Arc::new(Mutex::new(plan));
        let (pids, pid) = mpsc::channel();
        let its_plan = Arc::clone(&plan);
        let thread = thread::spawn(move || {
            ptrace::trace_child(&mut command);
            #[expect(clippy::zombie_processes, reason = "the tracer waits for it")]
            let child = command.spawn().expect("the command can be run");
            drop(command);
            pids.send(child.id()).expect("the test waits");
            let (process, pending) = (child.id() as i32, BTreeMap::new());
            Tracer { process, plan: its_plan, pending, has_begun: false }.run()
        });
        let pid = pid.recv().expect("the process starts");
        Self { pid, plan, thread: Some(thread) }
    }

    /// Makes a call fail from now on, and counts calls from now on.
    pub(crate) fn inject(&self, fault: Option<Fault>) {
        let mut plan = self.plan.lock().unwrap();
        *plan = Plan { fault, calls: BTreeMap::new(), clock: plan.clock };
    }

    /// Sets the wall clock of the process to so many seconds after that of the kernel.
    pub(crate) fn set_clock(&self, seconds: i64) {
        self.plan.lock().unwrap().clock = Some(seconds);
    }

    /// Returns the number of calls since the last fault was set, by number.
    pub(crate) fn calls(&self) -> BTreeMap<u64, u64> {
        self.plan.lock().unwrap().calls.clone()
    }

    /// Waits for the process. Returns its status, as of waitpid(2), or `None` if it hangs.
    pub(crate) fn wait(&mut self, timeout: Duration) -> Option<i32> {
        let deadline = Instant::now() + timeout;
        while self.is_running() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        let thread = self.thread.take_if(|thread| thread.is_finished())?;
        Some(thread.join().expect("the tracer works"))
    }

    /// Kills the process, and waits for its end.
    pub(crate) fn kill(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        if let Some(pid) = rustix::process::Pid::from_raw(self.pid as i32) {
            // Fails if it has ended.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::Kill);
        }
        let _ = thread.join();
    }

    /// Returns whether the process runs.
    pub(crate) fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }
}

impl Drop for Injector {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The changes at the end of a system call.
#[derive(Debug, Clone, Copy)]
enum Pending {
    Fails(i32),
    /// The third argument, which was reduced.
    Restore(u64),
    /// The address of the time, to which seconds are added.
    Clock(u64),
}

/// The tracing thread.
struct Tracer {
    process: i32,
    plan: Arc<Mutex<Plan>>,
    pending: BTreeMap<Tracee, Pending>,
    /// Whether `main` begins. The loader and the C library cannot report faults.
    has_begun: bool,
}

impl Tracer {
    /// Runs the process to its end. Returns its status.
    fn run(mut self) -> i32 {
        let mut result = 0;
        let mut is_followed = false;
        while let Some((tracee, change)) = ptrace::wait() {
            if let Change::Ended(status) = change {
                if tracee.0 == self.process {
                    result = status;
                }
                continue;
            }
            if !is_followed {
                // The stop after execve(2).
                tracee.follow_threads().expect("a stopped process can be traced");
                if self.plan.lock().unwrap().clock.is_some() {
                    tracee.hide_vdso().expect("the kernel has passed it one");
                }
                is_followed = true;
            }
            let signal = match change {
                Change::SystemCall => {
                    // Fails if the process is being killed.
                    let _ = self.system_call(tracee);
                    0
                }
                // The first stop of a thread, and the stop after execve(2).
                Change::Signal(libc::SIGSTOP | libc::SIGTRAP) => 0,
                Change::Signal(signal) => signal,
                Change::Event | Change::Ended(_) => 0,
            };
            // As above.
            let _ = tracee.resume(signal);
        }
        result
    }

    fn system_call(&mut self, tracee: Tracee) -> std::io::Result<()> {
        match (tracee.system_call()?, self.pending.remove(&tracee)) {
            (SystemCall::Begins { number, arguments }, _) => {
                match self.count(tracee, number, arguments) {
                    Some(Effect::Error(error)) => {
                        self.pending.insert(tracee, Pending::Fails(error));
                        // No system call has this number.
                        tracee.change_registers(|it| it.orig_rax = u64::MAX)
                    }
                    Some(Effect::Short) => {
                        self.pending.insert(tracee, Pending::Restore(arguments[2]));
                        tracee.change_registers(|it| it.rdx /= 2)
                    }
                    None if reads_wall_clock(number, &arguments) => {
                        self.pending.insert(tracee, Pending::Clock(arguments[1]));
                        Ok(())
                    }
                    None => Ok(()),
                }
            }
            (SystemCall::Ends, Some(Pending::Fails(error))) => {
                tracee.change_registers(|it| it.rax = i64::from(-error) as u64)
            }
            (SystemCall::Ends, Some(Pending::Restore(count))) => {
                tracee.change_registers(|it| it.rdx = count)
            }
            (SystemCall::Ends, Some(Pending::Clock(address))) => {
                let seconds = self.plan.lock().unwrap().clock.unwrap_or(0);
                tracee.add_seconds(address, seconds)
            }
            (SystemCall::Ends, None) => Ok(()),
        }
    }

    /// Counts a call that may fail. Returns the effect of the fault if it is the one.
    fn count(&mut self, tracee: Tracee, number: u64, arguments: [u64; 6]) -> Option<Effect> {
        // The standard library prepares its signal handler before `main`.
        self.has_begun |= number == libc::SYS_sigaltstack as u64;
        if !self.has_begun || !calls::may_fail(number, &arguments) {
            return None;
        }
        let mut plan = self.plan.lock().unwrap();
        let fault = plan.fault.filter(|fault| fault.number == number);
        if let Some(Fault { effect, .. }) = fault {
            // Pipes and event counters have no such errors.
            let needs_file = calls::needs_file(number, effect);
            let is_divisible = effect != Effect::Short || arguments[2] >= 2;
            if !is_divisible || needs_file && !is_file(tracee, arguments[0]) {
                return None;
            }
        }
        let count = plan.calls.entry(number).or_default();
        *count += 1;
        let effect = fault.filter(|fault| fault.nth == *count)?.effect;
        Some(effect)
    }
}

fn reads_wall_clock(number: u64, arguments: &[u64; 6]) -> bool {
    let clocks = [libc::CLOCK_REALTIME, libc::CLOCK_REALTIME_COARSE];
    number == libc::SYS_clock_gettime as u64 && clocks.contains(&(arguments[0] as i32))
}

/// Returns whether a descriptor is a file, which may be written in parts.
fn is_file(tracee: Tracee, descriptor: u64) -> bool {
    let link = fs::read_link(format!("/proc/{}/fd/{descriptor}", tracee.0));
    link.is_ok_and(|path| path.is_absolute())
}
