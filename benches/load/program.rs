//! The programs that are recorded: this program again, in a role.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{kill_process, Pid, Signal};
use rustix::time::{clock_gettime, ClockId};
use trace_runtime::{trace_alert, trace_instant, trace_state, Clock, TraceState};

/// Names the role of a process. Arguments of the role follow, separated by spaces.
pub(crate) const ROLE: &str = "TRACE_BENCH_LOAD";

/// Events that a thread of a crowd records between two pauses.
const BURST: u64 = 10;
const PAUSE: Duration = Duration::from_millis(50);

/// Runs a role: prints `ready`, waits for a line, works and prints numbers, and waits for the end
/// of standard input.
pub(crate) fn run(role: &str) {
    let words: Vec<&str> = role.split(' ').collect();
    let number = |index: usize| words[index].parse().expect("a number");
    let traced = !matches!(words[0], "plain" | "spin");
    // Ticks are nanoseconds, so that another process can compare them.
    let builder = || trace_runtime::builder().clock(Clock::Boottime);
    let _observer = (words[0] == "announce").then(|| trace_runtime::observe(announce));
    let _trace = match words[0] {
        "announce" => Some(builder().init()),
        _ => traced.then(trace_runtime::init),
    };
    println!("ready");
    let mut lines = std::io::stdin().lines();
    if lines.next().is_none() {
        return;
    }
    // A session starts without programs that are late.
    while traced && trace_state() != TraceState::Started {
        std::thread::sleep(Duration::from_millis(1));
    }
    match words[0] {
        "crowd" => crowd(number(1), number(2)),
        "paced" => paced(number(1), Duration::from_millis(number(2))),
        "alert" => repeat(Duration::from_millis(number(1)), || trace_alert!("flood")),
        "spin" => repeat(Duration::from_millis(number(1)), std::hint::spin_loop),
        role => panic!("expected a role that works, found {role:?}"),
    }
    lines.for_each(drop);
}

/// Records the first event of a session.
fn announce(state: TraceState) {
    if state == TraceState::Started {
        trace_instant!("load", "first");
    }
}

/// Records so many events in each of so many threads. Prints their number.
fn crowd(threads: u64, events: u64) {
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for number in 1..=events {
                    trace_instant!("load", "event");
                    if number % BURST == 0 {
                        std::thread::sleep(PAUSE);
                    }
                }
            });
        }
    });
    println!("{}", threads * events);
}

/// Records this many events in a second, or as many as possible if it is 0. Prints their number and
/// the CPU time in nanoseconds.
fn paced(rate: u64, time: Duration) {
    let (begin, mut events) = (Instant::now(), 0);
    loop {
        let elapsed = begin.elapsed();
        if elapsed >= time {
            break;
        }
        let due = match rate {
            0 => events + 10_000,
            rate => (elapsed.as_secs_f64() * rate as f64) as u64,
        };
        while events < due {
            trace_instant!("load", "event");
            events += 1;
        }
        if rate != 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    println!("{events} {}", cpu_nanos());
}

/// Repeats an action for some time. Prints how often.
fn repeat(time: Duration, action: impl Fn()) {
    let (begin, mut times) = (Instant::now(), 0u64);
    while begin.elapsed() < time {
        action();
        times += 1;
    }
    println!("{times} {}", cpu_nanos());
}

fn cpu_nanos() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the time of the clock of `announce`, in nanoseconds.
pub(crate) fn boottime() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A process in a role. It is killed when this is dropped.
pub(crate) struct Program {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Program {
    /// Starts a process, and waits until it is ready.
    pub(crate) fn start(socket: &Path, role: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.env(ROLE, role).env("TRACE_SOCKET", socket);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut program = Self { child, input, output };
        assert_eq!(program.line(), "ready\n");
        program
    }

    /// Starts so many processes of a role.
    pub(crate) fn start_many(socket: &Path, role: &str, number: usize) -> Vec<Self> {
        (0..number).map(|_| Self::start(socket, role)).collect()
    }

    /// Makes it work.
    pub(crate) fn go(&mut self) {
        writeln!(self.input, "go").expect("the program reads");
    }

    /// Waits for the numbers that it prints when it has worked.
    pub(crate) fn numbers(&mut self) -> Vec<u64> {
        let line = self.line();
        line.split_whitespace().map(|number| number.parse().expect("a number")).collect()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the program runs");
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the program prints");
        line
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
