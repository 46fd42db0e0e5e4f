//! A thread of the service that traces one thread into its buffer.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::buffer::{Buffer, Origin};
use crate::step::{Options, StopHandle, Tracer};

/// How many instructions are executed before their packets are written to the buffer.
const WRITE_INTERVAL: u64 = 1024;

/// Traces a thread until it is stopped, or the thread or the buffer ends.
#[derive(Debug)]
pub(super) struct Worker {
    stop: Option<StopHandle>,
    /// Whether packets are still written.
    is_writing: Arc<AtomicBool>,
    buffer: Arc<Mutex<Buffer>>,
    /// Disconnected when the thread is released.
    released: Receiver<()>,
}

/// The buffer of a worker.
struct Sink {
    buffer: Arc<Mutex<Buffer>>,
    origin: Origin,
    is_writing: Arc<AtomicBool>,
}

impl Worker {
    /// Attaches to a thread.
    pub(super) fn start(
        tid: u32,
        options: Options,
        buffer: &Arc<Mutex<Buffer>>,
    ) -> io::Result<Self> {
        let (attached, result) = mpsc::channel();
        let (releasing, released) = mpsc::channel();
        let is_writing = Arc::new(AtomicBool::new(true));
        let buffer = buffer.clone();
        let origin = lock(&buffer).origin();
        let sink = Sink { buffer: buffer.clone(), origin, is_writing: is_writing.clone() };
        thread::Builder::new().name("trace-insn-step".into()).spawn(move || {
            trace(tid, options, &sink, &attached);
            drop(releasing);
        })?;
        let stop = result.recv().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
        Ok(Self { stop: Some(stop), is_writing, buffer, released })
    }

    /// Begins to release the thread.
    pub(super) fn begin_stop(&mut self) {
        self.stop = None;
    }

    /// Waits until the thread is released and all packets are written, or `until`. Nothing is
    /// written afterwards. Returns whether the thread is released.
    pub(super) fn wait(&mut self, until: Instant) -> bool {
        let timeout = until.saturating_duration_since(Instant::now());
        let is_released = self.wait_released(timeout);
        // The worker writes with this lock held.
        let _buffer = lock(&self.buffer);
        self.is_writing.store(false, Ordering::Relaxed);
        is_released
    }

    /// Waits until the thread is released, or for `timeout`. Returns whether it is released.
    pub(super) fn wait_released(&self, timeout: Duration) -> bool {
        self.released.recv_timeout(timeout) == Err(RecvTimeoutError::Disconnected)
    }
}

impl Sink {
    /// Writes what the tracer has. Returns whether there is space for more.
    fn write(&self, tracer: &mut Tracer) -> bool {
        let mut buffer = lock(&self.buffer);
        if !self.is_writing.load(Ordering::Relaxed) {
            return false;
        }
        for note in tracer.take_notes() {
            buffer.note(self.origin, note);
        }
        let packets = tracer.take_packets();
        let mut written = packets.iter().map(|(_, bytes)| buffer.write(bytes));
        written.all(|written| written.is_ok()) && !buffer.is_full()
    }
}

fn trace(tid: u32, options: Options, sink: &Sink, attached: &Sender<io::Result<StopHandle>>) {
    let tracer = Tracer::attach_thread(tid, options)
        .and_then(|mut tracer| tracer.stop_handle().map(|handle| (tracer, handle)));
    let mut tracer = match tracer {
        Ok((tracer, handle)) => {
            // The receiver waits for it.
            let _ = attached.send(Ok(handle));
            tracer
        }
        Err(error) => {
            let _ = attached.send(Err(error));
            return;
        }
    };
    let mut instructions = 0_u64;
    while let Ok(Some(_)) = tracer.step() {
        instructions += 1;
        if instructions % WRITE_INTERVAL == 0 && !sink.write(&mut tracer) {
            break;
        }
    }
    // This fails only if the thread has ended.
    let _ = tracer.stop();
    sink.write(&mut tracer);
}

/// Locks a buffer. A panic of another thread leaves at most packets that cannot be decoded.
pub(super) fn lock(buffer: &Mutex<Buffer>) -> MutexGuard<'_, Buffer> {
    buffer.lock().unwrap_or_else(PoisonError::into_inner)
}
