//! The process of one tracer. It reads commands from standard input, and answers each with one
//! line.
//!
//! ```text
//! run KIND N     one loop of N trace points   -> nanoseconds of the traced thread's CPU time for each
//! settle         let the tracer catch up      -> ok
//! start FILE     begin to record              -> ok
//! finish         end, file complete           -> duration in nanoseconds, and the peak growth of resident memory since `start`, in KiB
//! ```

use std::io::{self, BufRead, Write};
use std::path::Path;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use crate::clock::{process_cpu_ns, thread_cpu_ns};
use crate::machine;
use crate::peer::{Kind, Loop, Peer, Session};
use crate::peers;

/// Iterations before every measurement, because other processes have used the caches since the last
/// one.
pub const WARM_UP: u64 = 500;
/// Threads of [`Kind::Threads`].
const THREADS: usize = 2;

/// Serves the tracer called `name` until standard input ends.
///
/// # Errors
///
/// Fails on an unknown name, an invalid command, or a broken pipe.
pub fn serve(name: &str) -> io::Result<()> {
    let peer = peers::find(name)
        .ok_or_else(|| io::Error::other(format!("no tracer is called {name:?}")))?;
    let mut child = Child { peer, session: None, resident_at_start: 0 };
    for line in io::stdin().lock().lines() {
        let answer = child.execute(&line?)?;
        let mut output = io::stdout().lock();
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

struct Child {
    peer: &'static Peer,
    session: Option<Box<dyn Session>>,
    resident_at_start: u64,
}

impl Child {
    fn execute(&mut self, line: &str) -> io::Result<String> {
        let refused = || io::Error::other(format!("{}: cannot do {line:?} now", self.peer.name));
        let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
        match command {
            "run" => self.run(rest).ok_or_else(refused),
            "settle" => self.settle(),
            "start" => self.start(Path::new(rest)),
            "finish" => {
                self.session.take().ok_or_else(refused).and_then(|session| self.finish(session))
            }
            _ => Err(refused()),
        }
    }

    fn run(&mut self, words: &str) -> Option<String> {
        let (kind, n) = words.split_once(' ')?;
        let (kind, n) = (Kind::from_word(kind)?, n.parse().ok()?);
        let body = self.peer.body(kind)?;
        let nanos =
            if kind == Kind::Threads { on_threads(body, n) } else { on_this_thread(body, n) };
        Some(format!("{}", nanos as f64 / n as f64))
    }

    fn settle(&mut self) -> io::Result<String> {
        if let Some(session) = &mut self.session {
            session.settle();
        }
        wait_until_idle();
        Ok("ok".to_owned())
    }

    fn start(&mut self, file: &Path) -> io::Result<String> {
        self.resident_at_start = machine::resident_kib()?;
        self.session = Some((self.peer.start)(file));
        Ok("ok".to_owned())
    }

    fn finish(&mut self, session: Box<dyn Session>) -> io::Result<String> {
        let begin = Instant::now();
        session.finish();
        let elapsed = begin.elapsed().as_nanos();
        Ok(format!(
            "{elapsed} {}",
            machine::peak_resident_kib()?.saturating_sub(self.resident_at_start)
        ))
    }
}

fn on_this_thread(body: Loop, n: u64) -> u64 {
    body(WARM_UP);
    let begin = thread_cpu_ns();
    body(n);
    thread_cpu_ns() - begin
}

/// Runs all threads at once, and returns the mean of their CPU times.
fn on_threads(body: Loop, n: u64) -> u64 {
    let together = Barrier::new(THREADS);
    let one = || {
        body(WARM_UP);
        together.wait();
        on_this_thread(body, n)
    };
    let total: u64 = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|thread| thread.join().expect("loops do not panic")).sum()
    });
    total / THREADS as u64
}

/// Waits at most two seconds until the tracer's own threads are idle, so that they do not affect
/// the next tracer, and do not fall behind further than in a program with fewer events.
fn wait_until_idle() {
    const PAUSE: Duration = Duration::from_millis(4);
    const IDLE_NS: u64 = 400_000;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(2) {
        let used = process_cpu_ns();
        thread::sleep(PAUSE);
        if process_cpu_ns() - used < IDLE_NS {
            return;
        }
    }
}
