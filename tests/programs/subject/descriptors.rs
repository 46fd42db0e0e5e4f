//! Programs that close all unknown descriptors, as daemons do.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use trace_runtime::trace_instant;

use crate::sys;

/// The files that the program opens: more than the tracer has descriptors.
const FILES: usize = 64;

/// The events of a traced load, which fills each of the tests' buffers several times.
const EVENTS: u64 = 100_000;

/// The clock ticks (10 ms each) that all threads of the tracer may use while the program sleeps.
const IDLE_TICKS: u64 = 5;

/// Closes all descriptors, opens files in `directory`, and traces. With `how` a child does so:
/// `child`, or `child init` if the child is a provider too.
pub(crate) fn close_all(how: &str, directory: &Path) {
    let trace = crate::init();
    trace_instant!("descriptors", "before");
    if how == "self" {
        let files = reuse_descriptors(directory);
        drop(trace);
        files.check();
        return;
    }
    if sys::fork(false) == 0 {
        let _own = how.contains("init").then(crate::init);
        reuse_descriptors(directory).check();
        std::process::exit(0);
    }
    sys::wait_for_any();
    trace_instant!("descriptors", "after");
}

fn reuse_descriptors(directory: &Path) -> Files {
    sys::close_from(3);
    let files = Files::open(directory);
    load();
    check_idle();
    files.check();
    files
}

fn load() {
    for number in 0..EVENTS {
        trace_instant!("descriptors", "load", "number" => number);
        if number % 1000 == 0 {
            // Gives time to the manager, which may share a processor with this thread.
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Checks that idle threads of the tracer use no processor time.
fn check_idle() {
    let used = || {
        let before = tracer_ticks();
        std::thread::sleep(Duration::from_millis(500));
        tracer_ticks() - before
    };
    // On a busy machine they may still have work from before. Threads that poll always use time.
    let used: Vec<u64> = (0..10).map(|_| used()).take_while(|used| *used > IDLE_TICKS).collect();
    assert!(used.len() < 10, "the tracer's threads wait: they used {used:?} ticks");
}

/// The processor time of the tracer's threads.
fn tracer_ticks() -> u64 {
    let tasks = fs::read_dir("/proc/self/task").expect("proc is mounted");
    tasks.map(|task| ticks_of(&task.expect("a task is listed").path())).sum()
}

fn ticks_of(task: &Path) -> u64 {
    let text = fs::read_to_string(task.join("stat")).unwrap_or_default();
    let Some((name, rest)) = text.rsplit_once(')') else { return 0 };
    if !name.contains("(trace-") {
        return 0;
    }
    // The fields after the name: utime and stime are the 12th and the 13th of them.
    rest.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

/// Files of the program that reuse closed descriptors.
struct Files(Vec<File>);

impl Files {
    fn open(directory: &Path) -> Self {
        let open = |index| {
            let path = directory.join(format!("own-{index}"));
            let mut file = OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .open(path)
                .expect("opens");
            writeln!(file, "own {index}").expect("a file can be written");
            file
        };
        let files: Vec<File> = (0..FILES).map(open).collect();
        assert_eq!(files[0].as_raw_fd(), 3, "descriptors are reused");
        Self(files)
    }

    /// Checks that each file is still open and the same.
    fn check(&self) {
        let inodes: BTreeSet<u64> =
            self.0.iter().map(|file| file.metadata().expect("it is open").ino()).collect();
        assert_eq!(inodes.len(), FILES);
    }
}

/// Prints the descriptors that are open before and after `init`, also in a forked child.
pub(crate) fn list() {
    println!("before {:?}", descriptors());
    let _trace = crate::init();
    trace_instant!("descriptors", "before");
    println!("after {:?}", descriptors());
    if sys::fork(false) == 0 {
        println!("child {:?}", descriptors());
        sys::exit_now(0);
    }
    sys::wait_for_any();
}

fn descriptors() -> BTreeSet<String> {
    let target = |entry: fs::DirEntry| fs::read_link(entry.path()).ok();
    fs::read_dir("/proc/self/fd")
        .expect("proc is mounted")
        .filter_map(|entry| target(entry.expect("a descriptor is listed")))
        .map(|target| target.display().to_string())
        .filter(|target| !target.starts_with("/proc/"))
        .collect()
}

/// Closes its standard output, and continues until its standard input ends.
pub(crate) fn close_output() {
    let _trace = crate::init();
    trace_instant!("descriptors", "before");
    sys::close(1);
    sys::close(2);
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input).expect("standard input can be read");
}

/// Traces while the kernel refuses the system calls that give a thread its own descriptors: with
/// `old` the newer one, with `none` both.
pub(crate) fn without_own_descriptors(how: &str) {
    sys::refuse(libc::SYS_close_range);
    if how == "none" {
        sys::refuse(libc::SYS_unshare);
    }
    close_all("self", Path::new(&crate::argument(1)));
}
