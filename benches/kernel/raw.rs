//! An instance of tracefs whose pages are read and discarded: what any recorder costs at least.

use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::fs::OFlags;

const TRACEFS: &str = "/sys/kernel/tracing";

/// The events of `--sched`.
pub(crate) const SCHED: [&str; 9] = [
    "sched/sched_switch",
    "sched/sched_waking",
    "sched/sched_wakeup_new",
    "sched/sched_migrate_task",
    "sched/sched_process_fork",
    "sched/sched_process_exec",
    "sched/sched_process_exit",
    "task/task_newtask",
    "task/task_rename",
];

/// The events of `kernel:syscall`.
pub(crate) const CALLS: [&str; 2] = ["raw_syscalls/sys_enter", "raw_syscalls/sys_exit"];

/// Returns whether tracefs is mounted.
pub(crate) fn is_mounted() -> bool {
    Path::new(TRACEFS).join("instances").exists()
}

/// Records the children of this thread.
pub(crate) struct RawTrace {
    instance: PathBuf,
    has_ended: Arc<AtomicBool>,
    reader: JoinHandle<u64>,
}

impl RawTrace {
    pub(crate) fn start(events: &[&str]) -> Self {
        let name = format!("bench-{}", std::process::id());
        let instance = Path::new(TRACEFS).join("instances").join(name);
        fs::create_dir(&instance).expect("an instance");
        let write = |file: &str, text: &str| {
            fs::write(instance.join(file), text).unwrap_or_else(|error| panic!("{file}: {error}"));
        };
        write("trace_clock", "x86-tsc");
        write("buffer_size_kb", "65536");
        let cpus = fs::read_dir(instance.join("per_cpu")).expect("CPUs").flatten();
        let open = |cpu: fs::DirEntry| {
            let mut options = OpenOptions::new();
            options.read(true).custom_flags(OFlags::NONBLOCK.bits() as i32);
            options.open(cpu.path().join("trace_pipe_raw")).expect("pages")
        };
        let pages: Vec<File> = cpus.map(open).collect();
        let has_ended = Arc::<AtomicBool>::default();
        let ends = Arc::clone(&has_ended);
        // Threads that this one starts later are recorded: a reader would add to what it reads.
        let reader = thread::spawn(move || discard(pages, &ends));
        write("options/event-fork", "1");
        let thread = rustix::thread::gettid().as_raw_nonzero();
        write("set_event_pid", &thread.to_string());
        events.iter().for_each(|event| write(&format!("events/{event}/enable"), "1"));
        Self { instance, has_ended, reader }
    }

    /// Returns the CPU time of the thread that read the pages, in nanoseconds.
    pub(crate) fn end(self) -> u64 {
        self.has_ended.store(true, Ordering::Relaxed);
        let nanos = self.reader.join().expect("the thread ends");
        fs::remove_dir(&self.instance).expect("the instance is removed");
        nanos
    }
}

/// Reads all pages as often as the helper does. Returns the thread's CPU time in nanoseconds.
fn discard(mut pages: Vec<File>, has_ended: &AtomicBool) -> u64 {
    let mut page = [0; 4096];
    while !has_ended.load(Ordering::Relaxed) {
        for file in &mut pages {
            while file.read(&mut page).is_ok_and(|bytes| bytes > 0) {}
        }
        thread::sleep(Duration::from_millis(50));
    }
    let times = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    times.tv_sec as u64 * 1_000_000_000 + times.tv_nsec as u64
}
