//! Prints the lines under a directory that contain a text, and traces its threads.
//!
//! ```text
//! trace record -- cargo run --release --example file_search -- [--threads N] TEXT DIRECTORY
//! ```
//!
//! The main thread walks the directories and queues files; workers search them. In the trace,
//! arrows lead from each file's `push` to its `search file`. The counter `queue` shows the
//! bottleneck: a full queue waits for the workers, an empty one for the walker.
//!
//! Hidden files and binary files are skipped, and symbolic links are not followed. The exit status
//! is 0 if a line was found, 1 if none was, 2 after an error.

#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::{env, fs, thread};

use trace_runtime::{
    trace_category, trace_counter, trace_duration, trace_flow_begin, trace_flow_end, trace_fn,
    trace_instant, trace_nonce, InstantScope,
};

trace_category!("walk", "reading directories");
trace_category!("queue", "files between the walker and the workers");
trace_category!("search", "reading and searching files");

const USAGE: &str = "usage: file_search [--threads N] TEXT DIRECTORY";

/// The most files in the queue, so that a fast walker does not fill the memory.
const QUEUE_LENGTH: usize = 1024;

/// A file with a zero byte among its first bytes is binary.
const BINARY_PREFIX: usize = 1024;

fn main() -> ExitCode {
    let _trace = trace_runtime::init();
    let options = match Options::parse(env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("file_search: {error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let search = Search::new(options);
    search.run();
    search.summary()
}

struct Options {
    threads: usize,
    text: String,
    directory: PathBuf,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut threads = thread::available_parallelism().map_or(1, usize::from);
        let mut first = arguments.next();
        if first.as_deref() == Some("--threads") {
            let number = arguments.next().ok_or("--threads: expected a number")?;
            threads = number.parse().map_err(|error| format!("--threads {number}: {error}"))?;
            first = arguments.next();
        }
        match (first, arguments.next(), arguments.next()) {
            _ if threads == 0 => Err("--threads: expected at least 1".to_owned()),
            (Some(text), Some(directory), None) if !text.is_empty() => {
                Ok(Self { threads, text, directory: directory.into() })
            }
            _ => Err("expected a text that is not empty and a directory".to_owned()),
        }
    }
}

struct Search {
    options: Options,
    queue: Queue,
    files: AtomicUsize,
    matches: AtomicUsize,
    errors: AtomicUsize,
    /// Whether the reader of the output has closed it.
    stopped: AtomicBool,
}

impl Search {
    fn new(options: Options) -> Self {
        Self {
            options,
            queue: Queue::default(),
            files: AtomicUsize::new(0),
            matches: AtomicUsize::new(0),
            errors: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        }
    }

    #[trace_fn(category = "search", name = "search", args(threads = self.options.threads))]
    fn run(&self) {
        thread::scope(|scope| {
            for number in 0..self.options.threads {
                let worker = thread::Builder::new().name(format!("worker {number}"));
                if let Err(error) = worker.spawn_scoped(scope, || self.work()) {
                    self.complain("expected to start a thread", Path::new("worker"), &error);
                }
            }
            self.walk();
            self.queue.close();
            // If no worker could be started, this thread does all the work.
            self.work();
        });
        trace_instant!("search", "done", InstantScope::Process, "files" => self.files.load(Ordering::Relaxed));
    }

    fn walk(&self) {
        let mut directories = vec![self.options.directory.clone()];
        while let Some(directory) = directories.pop().filter(|_| !self.is_stopped()) {
            trace_duration!("walk", "read directory", "path" => directory.to_string_lossy());
            if let Err(error) = self.read_directory(&directory, &mut directories) {
                self.complain("expected to read a directory", &directory, &error);
            }
        }
    }

    fn read_directory(&self, directory: &Path, directories: &mut Vec<PathBuf>) -> io::Result<()> {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                trace_instant!("walk", "hidden", "path" => entry.path().to_string_lossy());
            } else if kind.is_dir() {
                directories.push(entry.path());
            } else if kind.is_file() {
                self.queue.push(entry.path());
            }
        }
        Ok(())
    }

    #[trace_fn(category = "search")]
    fn work(&self) {
        while let Some(job) = self.queue.pop() {
            trace_duration!("search", "search file", "path" => job.path.to_string_lossy());
            trace_flow_end!("queue", "file", job.flow);
            if self.is_stopped() {
                continue;
            }
            self.files.fetch_add(1, Ordering::Relaxed);
            match read(&job.path) {
                Ok(content) => self.search(&job.path, &content),
                Err(error) => self.complain("expected to read a file", &job.path, &error),
            }
        }
    }

    fn search(&self, path: &Path, content: &[u8]) {
        if content.iter().take(BINARY_PREFIX).any(|byte| *byte == 0) {
            trace_instant!("search", "binary");
            return;
        }
        let (output, found) = matching_lines(path, content, self.options.text.as_bytes());
        if found == 0 {
            return;
        }
        let all = self.matches.fetch_add(found, Ordering::Relaxed) + found;
        trace_counter!("search", "found", 0, "lines" => all);
        self.print(&output);
    }

    fn print(&self, output: &[u8]) {
        trace_duration!("search", "print", "bytes" => output.len());
        if io::stdout().lock().write_all(output).is_err() {
            self.stopped.store(true, Ordering::Relaxed);
        }
    }

    fn complain(&self, expected: &str, path: &Path, error: &io::Error) {
        self.errors.fetch_add(1, Ordering::Relaxed);
        trace_instant!("search", "error", InstantScope::Process, "expected" => expected, "error" => error.to_string());
        eprintln!("file_search: {}: {expected}: {error}", path.display());
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn summary(&self) -> ExitCode {
        let [files, matches, errors] =
            [&self.files, &self.matches, &self.errors].map(|count| count.load(Ordering::Relaxed));
        eprintln!("{matches} lines in {files} files");
        match (errors, matches) {
            (0, 0) => ExitCode::from(1),
            (0, _) => ExitCode::SUCCESS,
            _ => ExitCode::from(2),
        }
    }
}

#[trace_fn(category = "search")]
fn read(path: &Path) -> io::Result<Vec<u8>> {
    fs::read(path)
}

/// Returns the lines with `text`, in the form of the output, and their number.
#[trace_fn(category = "search", name = "matching lines", args(bytes = content.len()))]
fn matching_lines(path: &Path, content: &[u8], text: &[u8]) -> (Vec<u8>, usize) {
    let (mut output, mut found) = (Vec::new(), 0);
    for (number, line) in (1..).zip(content.split(|byte| *byte == b'\n')) {
        if contains(line, text) {
            found += 1;
            output.extend_from_slice(format!("{}:{number}:", path.display()).as_bytes());
            output.extend_from_slice(line);
            output.push(b'\n');
        }
    }
    (output, found)
}

fn contains(mut line: &[u8], text: &[u8]) -> bool {
    let Some((first, rest)) = text.split_first() else { return true };
    while let Some(at) = line.iter().position(|byte| byte == first) {
        line = &line[at + 1..];
        if line.starts_with(rest) {
            return true;
        }
    }
    false
}

/// A file to be searched.
struct Job {
    path: PathBuf,
    /// The arrow from the walker to the worker.
    flow: u64,
}

/// Files from one walker to many workers.
#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    closed: bool,
}

impl Queue {
    /// Waits while the queue is full.
    fn push(&self, path: PathBuf) {
        trace_duration!("queue", "push");
        let flow = trace_nonce!();
        trace_flow_begin!("queue", "file", flow);
        let full = |state: &mut State| state.jobs.len() >= QUEUE_LENGTH;
        let state = self.changed.wait_while(self.lock(), full);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.jobs.push_back(Job { path, flow });
        trace_counter!("queue", "queue", 0, "files" => state.jobs.len());
        self.changed.notify_all();
    }

    /// Waits while the queue is empty; `None` once it is closed too.
    fn pop(&self) -> Option<Job> {
        let empty = |state: &mut State| state.jobs.is_empty() && !state.closed;
        let state = self.changed.wait_while(self.lock(), empty);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        let job = state.jobs.pop_front()?;
        trace_counter!("queue", "queue", 0, "files" => state.jobs.len());
        self.changed.notify_all();
        Some(job)
    }

    fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
