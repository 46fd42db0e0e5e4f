//! A thread of the service that traces one thread, or threads of one process, into their buffers.

use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::buffer::{Buffer, Origin};
use crate::recording::{Note, TraceId};
use crate::step::{Options, Step, StopHandle, Tracer};

/// How many instructions are executed before their packets are written to the buffers.
const WRITE_INTERVAL: u64 = 1024;

/// How long a call waits until threads are released. Only a thread that cannot be interrupted, as
/// during `vfork`, takes longer. It is released when it stops.
pub(super) const RELEASE_TIME: Duration = Duration::from_secs(2);

/// How long a call waits until a worker has written its packets. Only a worker that waits for a
/// thread which cannot be interrupted takes longer.
const WRITE_TIME: Duration = Duration::from_millis(200);

/// What a worker attaches to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Attached {
    Thread(u32),
    /// All threads of a process.
    Process(u32),
}

/// A thread and its buffer.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) tid: u32,
    pub(super) buffer: Arc<Mutex<Buffer>>,
}

/// Traces threads until it is stopped, or all threads or buffers end.
#[derive(Debug)]
pub(super) struct Worker {
    stop: Option<StopHandle>,
    /// Whether packets are still written.
    is_writing: Arc<AtomicBool>,
    routes: Vec<Route>,
    /// Answers to requests to write packets.
    written: Receiver<()>,
    /// Disconnected when the threads are released.
    released: Receiver<()>,
}

/// The buffers of a worker.
struct Sink {
    channels: Vec<Channel>,
    is_writing: Arc<AtomicBool>,
    /// Answers requests to write packets.
    writing: Sender<()>,
}

/// The buffer of one thread.
struct Channel {
    route: Route,
    origin: Origin,
    /// The tracer's number of the thread's trace.
    trace: Option<TraceId>,
    has_ended: bool,
}

impl Worker {
    /// Attaches to the threads.
    pub(super) fn start(
        attached: Attached,
        options: Options,
        routes: Vec<Route>,
    ) -> io::Result<Self> {
        let (attaching, result) = mpsc::channel();
        let (releasing, released) = mpsc::channel();
        let (writing, written) = mpsc::channel();
        let is_writing = Arc::new(AtomicBool::new(true));
        let channels = routes.iter().map(Channel::new).collect();
        let mut sink = Sink { channels, is_writing: is_writing.clone(), writing };
        thread::Builder::new().name("trace-insn-step".into()).spawn(move || {
            trace(attached, options, &mut sink, &attaching);
            drop(releasing);
        })?;
        let stop = result.recv().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
        Ok(Self { stop: Some(stop), is_writing, routes, written, released })
    }

    /// Writes the packets so far.
    pub(super) fn write(&self) {
        // Answers that came too late are those of earlier calls.
        while self.written.try_recv().is_ok() {}
        // A worker that has ended has written all packets.
        if self.stop.as_ref().is_some_and(|handle| handle.wake().is_ok()) {
            let _ = self.written.recv_timeout(WRITE_TIME);
        }
    }

    /// Begins to release the threads.
    pub(super) fn begin_stop(&mut self) {
        self.stop = None;
    }

    /// Waits until the threads are released and all packets are written, or `until`. Nothing is
    /// written afterwards. Returns whether the threads are released.
    pub(super) fn wait(&mut self, until: Instant) -> bool {
        let timeout = until.saturating_duration_since(Instant::now());
        let is_released = self.wait_released(timeout);
        self.is_writing.store(false, Ordering::Relaxed);
        // The worker checks it with the lock of a buffer, and writes with the same lock.
        self.routes.iter().for_each(|route| drop(lock(&route.buffer)));
        is_released
    }

    /// Returns the number of threads with a buffer.
    pub(super) fn threads(&self) -> u32 {
        self.routes.len() as u32
    }

    /// Waits until the threads are released, or for `timeout`. Returns whether they are released.
    pub(super) fn wait_released(&self, timeout: Duration) -> bool {
        self.released.recv_timeout(timeout) == Err(RecvTimeoutError::Disconnected)
    }
}

impl Drop for Worker {
    /// Releases the threads, also when a panic of a call ends the process.
    fn drop(&mut self) {
        self.begin_stop();
        self.wait_released(RELEASE_TIME);
    }
}

impl Sink {
    /// Writes what the tracer has. Returns whether a thread is left with space for more.
    fn write(&mut self, tracer: &mut Tracer) -> bool {
        let (notes, packets) = (tracer.take_notes(), tracer.take_packets());
        let mut has_space = false;
        for channel in &mut self.channels {
            has_space |= channel.write(&self.is_writing, &notes, &packets);
        }
        has_space
    }

    /// Reports that tracing has failed.
    fn fail(&self) {
        self.channels.iter().for_each(|channel| lock(&channel.route.buffer).fail());
    }
}

impl Channel {
    fn new(route: &Route) -> Self {
        let origin = lock(&route.buffer).begin();
        Self { route: route.clone(), origin, trace: None, has_ended: false }
    }

    /// Writes what belongs to the thread. Returns whether there is space for more.
    fn write(
        &mut self,
        is_writing: &AtomicBool,
        notes: &[Note],
        packets: &[(TraceId, Vec<u8>)],
    ) -> bool {
        let buffer = self.route.buffer.clone();
        let mut buffer = lock(&buffer);
        if !is_writing.load(Ordering::Relaxed) {
            return false;
        }
        for note in notes {
            if self.takes(note) {
                buffer.note(self.origin, note.clone());
            }
        }
        for (_, bytes) in packets.iter().filter(|(trace, _)| self.trace == Some(*trace)) {
            buffer.write(bytes);
        }
        !buffer.is_full() && !self.has_ended
    }

    /// Returns whether a note is about the thread, or about code.
    fn takes(&mut self, note: &Note) -> bool {
        match note {
            Note::Thread { trace, tid, .. } => {
                // Later threads may have the same id.
                if self.trace.is_none() && *tid == self.route.tid {
                    self.trace = Some(*trace);
                }
                self.trace == Some(*trace)
            }
            Note::Position { trace, .. } => self.trace == Some(*trace),
            Note::End { trace, .. } => {
                self.has_ended |= self.trace == Some(*trace);
                self.trace == Some(*trace)
            }
            Note::Mapping { .. } | Note::Code { .. } => true,
        }
    }
}

fn trace(
    attached: Attached,
    options: Options,
    sink: &mut Sink,
    attaching: &Sender<io::Result<StopHandle>>,
) {
    let tracer = match attached {
        Attached::Thread(tid) => Tracer::attach_thread(tid, options),
        Attached::Process(pid) => Tracer::attach_process(pid, options),
    };
    let tracer = tracer.and_then(|mut tracer| tracer.stop_handle().map(|handle| (tracer, handle)));
    let mut tracer = match tracer {
        Ok((tracer, handle)) => {
            // The receiver waits for it.
            let _ = attaching.send(Ok(handle));
            tracer
        }
        Err(error) => {
            let _ = attaching.send(Err(error));
            return;
        }
    };
    // After a panic the threads are released as after an error. The sink is used only to report it.
    let traced = catch_unwind(AssertUnwindSafe(|| trace_all(&mut tracer, sink)));
    if !matches!(traced, Ok(Ok(()))) {
        sink.fail();
    }
    if tracer.stop().is_err() {
        sink.fail();
    }
    if traced.is_ok() {
        sink.write(&mut tracer);
    }
}

/// Traces until all threads or buffers end.
fn trace_all(tracer: &mut Tracer, sink: &mut Sink) -> io::Result<()> {
    let mut instructions = 0_u64;
    loop {
        let has_space = match tracer.step_or_wake()? {
            Step::Executed(_) => {
                instructions += 1;
                instructions % WRITE_INTERVAL != 0 || sink.write(tracer)
            }
            Step::Woken => {
                let has_space = sink.write(tracer);
                // If nobody waits any more, the call has returned.
                let _ = sink.writing.send(());
                has_space
            }
            Step::Ended => false,
        };
        if !has_space {
            return Ok(());
        }
    }
}

/// Locks a buffer. A panic of another thread leaves at most packets that cannot be decoded.
pub(super) fn lock(buffer: &Mutex<Buffer>) -> MutexGuard<'_, Buffer> {
    buffer.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs::{self, File};
    use std::io::Read;
    use std::os::unix::fs::FileExt;
    use std::process::{Child, ChildStdout, Command, Stdio};
    use std::sync::atomic::AtomicU64;

    use super::*;
    use crate::controller::{ctl, BufferConfig, BufferDescriptor};
    use crate::pt::Writer;
    use crate::step::Engine;

    pub(crate) const CONFIG: BufferConfig = BufferConfig {
        num_chunks: 1,
        chunk_order: 0,
        is_circular: true,
        ctl: ctl::DEFAULT,
        address_space_match: 0,
        address_ranges: [(0, 0); 2],
    };

    #[test]
    fn threads_are_released_when_the_worker_panics() {
        static HAS_PANICKED: AtomicBool = AtomicBool::new(false);
        let clock = || {
            assert!(HAS_PANICKED.swap(true, Ordering::Relaxed), "in the worker");
            0
        };
        let mut child = Command::new("/bin/cat").stdin(Stdio::piped()).spawn().unwrap();
        let buffer = Buffer::new(BufferDescriptor(0), &CONFIG).unwrap();
        let route = Route { tid: child.id(), buffer: Arc::new(Mutex::new(buffer)) };
        let options = Options { clock, has_time: true, ..options() };
        let attached = Attached::Thread(child.id());
        let worker = Worker::start(attached, options, vec![route.clone()]).unwrap();
        assert!(worker.wait_released(Duration::MAX));
        assert_eq!(tracer_of(&child), "0");
        assert!(lock(&route.buffer).has_failed());
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }

    /// The environment variable of the process whose threads are traced.
    const THREADS: &str = "TRACE_TEST_THREADS";

    #[test]
    #[ignore = "a process of another test"]
    fn process_of_four_threads() {
        if std::env::var_os(THREADS).is_none() {
            return;
        }
        let ends = Arc::new(AtomicBool::new(false));
        let compute = |ends: Arc<AtomicBool>| {
            while !ends.load(Ordering::Relaxed) {
                thread::yield_now();
            }
        };
        // The harness has a thread, too.
        let threads = [(); 2].map(|()| {
            let ends = ends.clone();
            thread::spawn(move || compute(ends))
        });
        println!("ready");
        io::stdin().read_to_end(&mut Vec::new()).unwrap();
        ends.store(true, Ordering::Relaxed);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }

    /// Starts a process whose threads compute until its input ends. Returns it with its output and
    /// its four threads.
    pub(in crate::service) fn start_threads() -> (Child, ChildStdout, Vec<u32>) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["process_of_four_threads", "--ignored", "--nocapture"]);
        command.env(THREADS, "").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut output = child.stdout.take().unwrap();
        let mut printed = Vec::new();
        while !printed.ends_with(b"ready\n") {
            let mut byte = [0];
            output.read_exact(&mut byte).unwrap();
            printed.extend(byte);
        }
        let tasks = fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
        let name = |task: io::Result<fs::DirEntry>| task.unwrap().file_name();
        let tids: Vec<u32> = tasks.map(|it| name(it).to_str().unwrap().parse().unwrap()).collect();
        assert_eq!(tids.len(), 4);
        (child, output, tids)
    }

    /// Returns the code in the memory of a process.
    fn code_of(child: &Child) -> Vec<u8> {
        let maps = fs::read_to_string(format!("/proc/{}/maps", child.id())).unwrap();
        let memory = File::open(format!("/proc/{}/mem", child.id())).unwrap();
        let mut code = Vec::new();
        for line in maps.lines().filter(|line| line.contains(" r-xp ") && line.contains('/')) {
            let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
            let [start, end] = [start, end].map(|hex| u64::from_str_radix(hex, 16).unwrap());
            let mut part = vec![0; (end - start) as usize];
            memory.read_exact_at(&mut part, start).unwrap();
            code.extend(part);
        }
        code
    }

    /// How many readings of the clock are left before all others panic.
    static READINGS: AtomicU64 = AtomicU64::new(0);

    fn broken_clock() -> u64 {
        let left =
            READINGS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |it| it.checked_sub(1));
        left.expect("the clock is broken")
    }

    #[test]
    fn threads_are_released_when_every_stop_panics() {
        for (engine, readings) in [Engine::Step, Engine::Block]
            .into_iter()
            .flat_map(|engine| [(engine, 0), (engine, 5), (engine, 300)])
        {
            READINGS.store(readings, Ordering::Relaxed);
            let (mut child, mut output, tids) = start_threads();
            let code = code_of(&child);
            let tasks = format!("/proc/{}/task", child.id());
            let routes = tids.iter().enumerate().map(|(number, tid)| {
                let buffer = Buffer::new(BufferDescriptor(number as u32), &CONFIG).unwrap();
                Route { tid: *tid, buffer: Arc::new(Mutex::new(buffer)) }
            });
            let routes: Vec<_> = routes.collect();
            let options = Options { engine, clock: broken_clock, has_time: true, ..options() };
            let attached = Attached::Process(child.id());
            let worker = Worker::start(attached, options, routes.clone()).unwrap();
            assert!(worker.wait_released(Duration::MAX));
            for route in &routes {
                let status = fs::read_to_string(format!("{tasks}/{}/status", route.tid)).unwrap();
                assert!(status.contains("TracerPid:\t0\n"), "{engine:?} {readings}: {status}");
                assert!(lock(&route.buffer).has_failed(), "{engine:?} {readings}");
            }
            assert!(code_of(&child) == code, "{engine:?} {readings}: a breakpoint is left");
            drop(child.stdin.take());
            output.read_to_end(&mut Vec::new()).unwrap();
            assert!(child.wait().unwrap().success(), "{engine:?} {readings}");
        }
    }

    pub(in crate::service) fn tracer_of(child: &Child) -> String {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
        line.unwrap().trim().to_owned()
    }

    fn options() -> Options {
        Options {
            engine: Engine::Step,
            writer: Writer::new(),
            clock: || 0,
            has_time: false,
            psb_bytes: Options::PSB_BYTES,
            ranges: Vec::new(),
            budget: None,
        }
    }

    #[test]
    fn threads_are_released_when_a_panic_drops_the_worker() {
        let mut child = Command::new("/bin/cat").stdin(Stdio::piped()).spawn().unwrap();
        let buffer = Buffer::new(BufferDescriptor(0), &CONFIG).unwrap();
        let route = Route { tid: child.id(), buffer: Arc::new(Mutex::new(buffer)) };
        let attached = Attached::Thread(child.id());
        let worker = Worker::start(attached, options(), vec![route]).unwrap();
        assert_ne!(tracer_of(&child), "0");
        let call = thread::spawn(move || {
            let _worker = worker;
            panic!("in a call");
        });
        call.join().unwrap_err();
        assert_eq!(tracer_of(&child), "0");
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }
}
