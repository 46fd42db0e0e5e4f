//! Faults in a daemon while it cuts an archive into parts, takes a snapshot and serves a stream.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use trace_manager::controller::{
    Controller, ControllerError, Output, RotationOptions, Summary, TraceConfig,
};
use trace_protocol::mode::BufferingMode;

use super::daemon::{check, problem_of_archives, unexpected, Script};
use super::harness::Archive;
use super::injector::Fault;

/// The time between two parts. The program records some 100 events in it.
const PART: Duration = Duration::from_millis(20);

/// The results of a session with parts.
struct Recorded {
    /// The directory of its parts.
    directory: PathBuf,
    snapshot: Result<u64, ControllerError>,
    follow: Result<(), ControllerError>,
    stream: Vec<u8>,
    summary: Result<Summary, ControllerError>,
}

const PARTS: Script<Result<Recorded, ControllerError>> = Script { run: record, problem };

fn record(mut controller: Controller, directory: &Path) -> Result<Recorded, ControllerError> {
    let config = TraceConfig {
        mode: BufferingMode::Streaming,
        buffer_size: 256 << 10,
        start_timeout: Duration::from_secs(1),
        stop_timeout: Duration::from_secs(1),
        rotation: RotationOptions { interval: PART, ..RotationOptions::default() },
        output: Output::Beneath("out.fxt".to_owned()),
        ..TraceConfig::default()
    };
    // A session that ends late must not write the parts of the next one.
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let directory = directory.join(format!("run-{}", RUNS.fetch_add(1, Ordering::Relaxed)));
    fs::create_dir(&directory).expect("the directory can be written");
    let output = File::open(&directory).expect("the directory exists");
    let name = controller.initialize(&config, &output)?;
    controller.start(&name)?;
    let (reader, writer) = UnixStream::pair().expect("descriptors are left");
    let follow = controller.follow(&name, &[], &writer);
    drop(writer);
    let stream = read(reader);
    // A part that cannot be created is tried again: the session may have one only.
    let deadline = Instant::now() + Duration::from_secs(2);
    while parts(&directory).len() < 3 && Instant::now() < deadline {
        controller.flush(&name)?;
        // A user has a hundred flushes a second.
        thread::sleep(Duration::from_millis(20));
    }
    let copy = File::create(directory.join("copy.fxt")).expect("the directory can be written");
    let snapshot = controller.snapshot(&name, Output::Descriptor, &copy);
    let summary = controller.stop(&name);
    let stream = stream.join().expect("a socket can be read");
    Ok(Recorded { directory, snapshot, follow, stream, summary })
}

/// Reads a stream to its end.
fn read(mut reader: UnixStream) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).expect("a socket can be read");
        bytes
    })
}

/// Returns the complete parts.
fn parts(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("the directory exists");
    let is_part = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("out.") && name.ends_with(".fxt")
    };
    entries.map(|entry| entry.expect("it can be read").path()).filter(is_part).collect()
}

fn problem(
    _: &Path,
    fault: Option<Fault>,
    result: Result<Recorded, ControllerError>,
) -> Option<String> {
    match result {
        Err(error) => unexpected(fault, &error),
        Ok(recorded) => problem_of_session(fault, recorded),
    }
}

fn problem_of_session(fault: Option<Fault>, recorded: Recorded) -> Option<String> {
    let Recorded { directory, snapshot, follow, stream, summary } = recorded;
    let paths = parts(&directory);
    match snapshot {
        // Panics if it is malformed.
        Ok(_) => drop(Archive::read(&directory.join("copy.fxt"))),
        Err(error) => return unexpected(fault, &error),
    }
    match follow {
        Ok(()) if stream.is_empty() && fault.is_none() => return Some("no stream".to_owned()),
        // Panics if it is malformed. A stream that fails ends before its first record.
        Ok(()) => drop((!stream.is_empty()).then(|| Archive::parse(&stream))),
        Err(error) => return unexpected(fault, &error),
    }
    match summary {
        Ok(summary) if paths.len() < 3 && fault.is_none_or(|it| it.effect.is_harmless()) => {
            Some(format!("{} parts: {summary:?}", paths.len()))
        }
        Ok(summary) => problem_of_archives(&paths, fault, &summary),
        Err(error) => unexpected(fault, &error),
    }
}

#[test]
fn a_daemon_survives_faults_while_it_writes_parts_snapshots_and_streams() {
    check(&PARTS, 1);
}

#[test]
#[ignore = "takes minutes"]
fn a_daemon_survives_a_fault_of_each_call_while_it_writes_parts_snapshots_and_streams() {
    check(&PARTS, u64::MAX);
}
