//! Programs that others wrote, traced to compare decoders: whole, and in a ring of the newest
//! packets.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use object::elf::{FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};
use object::Endianness;
use tempfile::NamedTempFile;
use trace_insntrace::flow::Event;
use trace_insntrace::pt::layout::PSB;
use trace_insntrace::pt::Writer;
use trace_insntrace::recording::{Note, Ring, ThreadEnd, TraceId};
use trace_insntrace::step::{Engine, Options, Tracer};

use crate::stepped::{finish, options, Stepped};

/// The bytes of a trace in a ring. The traces are larger.
const RING_BYTES: usize = 8 << 10;

/// The distance of PSB packets, so that each ring has several.
const PSB_BYTES: u64 = 2 << 10;

/// Steps of a Python interpreter, whose start takes millions: see [`script`].
const PYTHON_STEPS: u64 = 100_000;

/// The most instructions of one stop of the block engine, whose packets are written before the
/// first of them is returned.
const MOST_AT_ONCE: usize = 10_000;

/// The longest time in which a program that is attached to has executed everything.
const DEADLINE: Duration = Duration::from_secs(600);

/// The least instructions of a program that is attached to.
const ATTACHED: usize = 60_000;

/// The least instructions of its second thread.
const SECOND: usize = 1000;

/// The number of instructions between two looks at whether it has executed everything.
const LOOK: usize = 1000;

/// The number of instructions of [`async_server`].
const SERVED: u64 = 400_000;

/// The time on CPUs, in the kernel's ticks, after which a server has its connections.
const WARM_TICKS: u64 = 100;

/// Threads that compute, and an alarm whose handler forks. The next alarm follows the end of the
/// child, which takes seconds where it is traced on a busy machine.
const THREADS_AND_SIGNALS: &str = "
import os, signal, threading
def compute():
    while True:
        sum(number * number for number in range(50))
def fork(number, frame):
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
signal.signal(signal.SIGALRM, fork)
threading.Thread(target=compute, daemon=True).start()
print('x', flush=True)
signal.setitimer(signal.ITIMER_REAL, 0.05)
compute()
";

/// A run, and the same run as a ring has it.
pub(crate) struct Both {
    pub(crate) whole: Stepped,
    pub(crate) ring: Stepped,
}

/// A run whose newest packets are kept in a ring.
struct Running<'a> {
    tracer: &'a mut Tracer,
    whole: Stepped,
    ring: Ring,
    counts: BTreeMap<TraceId, usize>,
    /// The offset of each PSB, with the instructions before and after the step that wrote it.
    begins: BTreeMap<TraceId, Vec<(usize, [usize; 2])>>,
}

impl<'a> Running<'a> {
    fn new(tracer: &'a mut Tracer) -> Self {
        let (counts, begins) = Default::default();
        Self { tracer, whole: Stepped::default(), ring: Ring::new(RING_BYTES), counts, begins }
    }

    /// Makes a step. Returns whether there was one.
    fn step(&mut self) -> bool {
        let executed = self.tracer.step().unwrap();
        if let Some(executed) = executed {
            *self.counts.entry(executed.trace).or_default() += 1;
            self.whole.executed.push(executed);
        }
        for note in self.tracer.take_notes() {
            self.ring.note(note.clone());
            self.whole.notes.push(note);
        }
        for (trace, bytes) in self.tracer.take_packets() {
            let after = self.counts.get(&trace).copied().unwrap_or(0);
            let is_own = executed.is_some_and(|executed| executed.trace == trace);
            let around = [after - usize::from(is_own), after];
            let packets = self.whole.packets.entry(trace).or_default();
            let psbs = bytes.windows(PSB.len()).enumerate().filter(|(_, it)| *it == PSB);
            let offsets = psbs.map(|(at, _)| (packets.len() + at, around));
            self.begins.entry(trace).or_default().extend(offsets);
            packets.extend(&bytes);
            self.ring.packets(trace, &bytes);
        }
        executed.is_some()
    }

    /// Returns the run, and the part of it that the ring has. `is_exact` is whether packets are
    /// written with their instructions.
    fn end(mut self, is_exact: bool) -> Both {
        let (notes, packets) = self.ring.snapshot();
        let mut ring = Stepped { notes, packets: packets.into_iter().collect(), ..<_>::default() };
        for (trace, packets) in &ring.packets {
            let found = ring.decode(*trace).0.len();
            let executed: Vec<_> = self.of(*trace).collect();
            let begin = executed.len() - found;
            let lost = self.whole.packets[trace].len() - packets.len();
            let psb = self.begins[trace].iter().find(|(offset, _)| *offset >= lost);
            let [before, after] = psb.map_or([executed.len(); 2], |(_, around)| *around);
            let late = if is_exact { 0 } else { MOST_AT_ONCE };
            let begins = before..=after + late;
            assert!(begins.contains(&begin), "{trace:?} {begins:?} {begin}");
            assert!(found > 0 || executed.is_empty(), "{trace:?}: nothing of {}", executed.len());
            ring.executed.extend(&executed[begin..]);
        }
        let is_lost = |trace| self.whole.packets[trace].len() > RING_BYTES;
        assert!(ring.packets.keys().any(is_lost), "a ring is overwritten");
        ring.check();
        Both { whole: self.whole, ring }
    }

    fn of(&self, trace: TraceId) -> impl Iterator<Item = trace_insntrace::step::Executed> + '_ {
        self.whole.executed.iter().filter(move |executed| executed.trace == trace).copied()
    }

    /// Whether a second thread and a child have executed instructions.
    fn has_all(&self) -> bool {
        let threads = self.whole.notes.iter().filter_map(|note| match note {
            Note::Thread { trace, pid, .. } => Some((*trace, *pid)),
            _ => None,
        });
        let count = |trace| self.counts.get(&trace).copied().unwrap_or(0);
        let threads: Vec<_> = threads.filter(|(trace, _)| count(*trace) > 0).collect();
        let processes: BTreeSet<_> = threads.iter().map(|(_, pid)| pid).collect();
        let is_busy = |(trace, _): &&(TraceId, u32)| count(*trace) >= SECOND;
        let busy: BTreeSet<_> = threads.iter().filter(is_busy).map(|(_, pid)| pid).collect();
        let several = threads.iter().filter(is_busy).count() > busy.len();
        self.whole.executed.len() >= ATTACHED && processes.len() > 1 && several
    }
}

/// Lines that are not sorted, in a file.
pub(crate) fn lines() -> NamedTempFile {
    let mut text = NamedTempFile::new().unwrap();
    for number in (0..60_u32).map(|number| number * 7919 % 101) {
        writeln!(text, "line {number}").unwrap();
    }
    text
}

/// Returns whether a program has no interpreter, which would link it.
pub(crate) fn is_static(program: &str) -> bool {
    let paths = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(program));
    let path = paths.iter().find(|path| path.exists()).expect(program);
    let bytes = std::fs::read(path).unwrap();
    let header = FileHeader64::<Endianness>::parse(&*bytes).unwrap();
    let (endian, data) = (header.endian().unwrap(), &*bytes);
    let segments = header.program_headers(endian, data).unwrap();
    segments.iter().all(|segment| segment.p_type(endian) != PT_INTERP)
}

/// Returns the programs that are traced from their begin, with a name and a budget.
fn commands(lines: &str) -> Vec<(&'static str, Command, Option<u64>)> {
    assert!(is_static("busybox"), "busybox is dynamically linked: see .ci/insntrace");
    let of = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments);
        command
    };
    let shell = "trap 'echo got' USR1; kill -USR1 $$; cat $0 | sort; (exit 3); exec cat $0";
    let applets = "busybox sort $0 | busybox md5sum";
    vec![
        ("ls", of("/bin/ls", &["/"]), None),
        ("sort", of("/usr/bin/sort", &[lines]), None),
        ("busybox", of("busybox", &["sh", "-c", applets, lines]), None),
        ("shell", of("/bin/sh", &["-c", shell, lines]), None),
        (
            "python3",
            of("/usr/bin/python3", &["-I", "-S", "-c", "print(sorted([3, 1, 2]))"]),
            Some(PYTHON_STEPS),
        ),
    ]
}

/// Traces programs with the step engine, as these options say.
pub(crate) fn stepped(clock: fn() -> u64) -> impl Iterator<Item = (&'static str, Both)> {
    let text = lines();
    let commands = commands(text.path().to_str().unwrap());
    commands.into_iter().map(move |(name, mut command, budget)| {
        let _kept = &text;
        let settings = settings(clock, Engine::Step);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        // Locales take most of the instructions.
        command.env_clear().env("PATH", "/usr/bin:/bin");
        let mut tracer = Tracer::start(&mut command, Options { budget, ..settings }).unwrap();
        let mut running = Running::new(&mut tracer);
        while running.step() {}
        let both = running.end(true);
        assert!(tracer.untraced().is_none(), "{name}");
        (name, both)
    })
}

/// Traces a Python interpreter and its script to the end, by blocks.
pub(crate) fn script(clock: fn() -> u64) -> Stepped {
    let mut command = Command::new("/usr/bin/python3");
    command.args(["-I", "-S", "-c", "print(sum(number * number for number in range(1000)))"]);
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::piped());
    let settings = Options { engine: Engine::Block, clock, ..options(Writer::new()) };
    let mut tracer = Tracer::start(&mut command, settings).unwrap();
    let run = finish(&mut tracer);
    let mut printed = String::new();
    let output = tracer.child_mut().unwrap().stdout.take();
    output.unwrap().read_to_string(&mut printed).unwrap();
    assert_eq!((&*printed, tracer.wait().unwrap()), ("332833500\n", ThreadEnd::Exited(0)));
    assert!(tracer.untraced().is_none());
    run
}

/// Traces a Python interpreter that runs: its threads, signals and children.
pub(crate) fn attached(clock: fn() -> u64, engine: Engine) -> Both {
    let mut program = Killed(python());
    let mut tracer = Tracer::attach(program.0.id(), settings(clock, engine)).unwrap();
    let mut running = Running::new(&mut tracer);
    let begin = Instant::now();
    while !running.has_all() {
        (0..LOOK).for_each(|_| assert!(running.step(), "it runs until it is killed"));
        let executed = running.whole.executed.len();
        assert!(begin.elapsed() < DEADLINE, "no thread or child in {executed} instructions");
    }
    running.tracer.stop().unwrap();
    while running.step() {}
    let both = running.end(engine == Engine::Step);
    assert!(tracer.untraced().is_none());
    drop(tracer);
    assert!(program.0.try_wait().unwrap().is_none(), "it continues untraced");
    let events = both.whole.packets.keys().flat_map(|trace| both.whole.decode(*trace).1);
    assert!(events.into_iter().any(|event| matches!(event, Event::Interrupted { .. })));
    both
}

/// Traces a part of a published async server, mini-redis, whose clients send one request after the
/// other: all threads of a process that runs, by blocks. `TRACE_ASYNC_PROGRAMS` is the program,
/// which `.ci/insntrace` builds.
pub(crate) fn async_server(clock: fn() -> u64) -> Both {
    let mut server = under_load();
    let settings = Options { budget: Some(SERVED), ..settings(clock, Engine::Block) };
    let mut tracer = Tracer::attach(server.0.id(), settings).unwrap();
    let mut running = Running::new(&mut tracer);
    while running.step() {}
    let both = running.end(false);
    assert!(tracer.untraced().is_none());
    drop(tracer);
    assert!(server.0.try_wait().unwrap().is_none(), "it continues untraced");
    for name in ["server", "client"] {
        let [whole, ring] = [&both.whole, &both.ring].map(|run| executed_by(run, name));
        assert!(whole > 100 && ring > 100, "{name}: {ring} of {whole}");
    }
    both
}

/// Starts the server with its clients, and waits until it has its connections.
fn under_load() -> Killed {
    let path = std::env::var_os("TRACE_ASYNC_PROGRAMS").expect("see .ci/insntrace");
    let mut command = Command::new(path);
    command.args(["redis-load", "1000000000"]).stdout(Stdio::null());
    let mut server = Killed(command.spawn().unwrap());
    let begin = Instant::now();
    while cpu_ticks(server.0.id()) < WARM_TICKS {
        assert!(begin.elapsed() < DEADLINE, "it does nothing");
        assert!(server.0.try_wait().unwrap().is_none(), "it runs until it is killed");
        std::thread::sleep(Duration::from_millis(10));
    }
    server
}

/// Returns the time that a process was on CPUs.
fn cpu_ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    let times = fields.split(' ').skip(11).take(2);
    times.map(|time| time.parse::<u64>().unwrap()).sum()
}

/// Returns the number of instructions of the threads of a name.
fn executed_by(run: &Stepped, of: &str) -> usize {
    let threads = run.notes.iter().filter_map(|note| match note {
        Note::Thread { trace, name, .. } if name == of => Some(*trace),
        _ => None,
    });
    let threads: BTreeSet<_> = threads.collect();
    run.executed.iter().filter(|executed| threads.contains(&executed.trace)).count()
}

fn settings(clock: fn() -> u64, engine: Engine) -> Options {
    Options { engine, clock, psb_bytes: PSB_BYTES, ..options(Writer::new()) }
}

fn python() -> Child {
    let mut command = Command::new("/usr/bin/python3");
    command.args(["-I", "-S", "-c", THREADS_AND_SIGNALS]).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    child
}

/// A process that is killed when this is dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
