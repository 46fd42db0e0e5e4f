//! Steps of the wall clock while a daemon records: it is set back, and forward.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use trace_manager::controller::{Controller, Output, SnapshotOptions, TraceConfig};
use trace_protocol::file::utc;
use trace_protocol::mode::BufferingMode;

use super::harness::{subject, trace, wait_until, Archive};
use super::injector::Injector;

const HOUR: i64 = 60 * 60;
const DAY: i64 = 24 * HOUR;

/// The time between two snapshots.
const INTERVAL: Duration = Duration::from_millis(300);

/// Returns the time of day in six hours, which no step of the test reaches by itself.
fn in_six_hours() -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let minutes = (now / 60 + 6 * 60) % (24 * 60);
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

/// Returns the complete snapshots, in the order in which they were written.
fn snapshots(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let complete =
        entries.filter(|it| it.file_name().as_encoded_bytes().starts_with(b"out-snapshot-"));
    let mut paths: Vec<_> = complete.map(|entry| entry.path()).collect();
    paths.sort_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
    paths
}

/// A daemon whose clock can be set, and a program that records.
struct Stage {
    directory: TempDir,
    daemon: Injector,
    program: Child,
}

impl Stage {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("manager.sock");
        let mut command = trace(&["daemon", "--socket"]);
        command.arg(&socket).arg("--dir").arg(directory.path());
        command.stderr(File::create(directory.path().join("stderr")).unwrap());
        let daemon = Injector::spawn_with_clock(command);
        let control = directory.path().join("control.sock");
        wait_until("the daemon answers", || {
            Controller::connect(&control).is_ok_and(|mut it| it.groups().is_ok())
        });
        let mut chatter = subject(&["chatter"]);
        chatter.env("TRACE_SOCKET", &socket).stdin(Stdio::piped()).stdout(Stdio::null());
        let program = chatter.spawn().unwrap();
        Self { directory, daemon, program }
    }

    /// Waits for further snapshots, as many as two steps of the clock could take together.
    fn wait_for_snapshots(&self) {
        let before = snapshots(self.directory.path()).len();
        wait_until("snapshots are taken", || {
            thread::sleep(Duration::from_millis(20));
            snapshots(self.directory.path()).len() >= before + 3
        });
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// Snapshots go on at their interval, and no faster; their names are in order; a time of day that a
/// step passes does not come; no event is lost.
#[test]
fn a_session_and_its_triggers_survive_steps_of_the_clock() {
    let stage = Stage::start();
    let directory = stage.directory.path();
    let daily = format!("at:{}", in_six_hours());
    let config = TraceConfig {
        mode: BufferingMode::Streaming,
        buffer_size: 256 << 10,
        rules: vec![
            format!("every:{}ms:snapshot", INTERVAL.as_millis()),
            format!("{daily}:snapshot"),
        ],
        snapshots: SnapshotOptions { min_interval: INTERVAL, ..SnapshotOptions::default() },
        output: Output::Beneath("out.fxt".to_owned()),
        ..TraceConfig::default()
    };
    let mut controller = Controller::connect(&directory.join("control.sock")).unwrap();
    let name = controller.initialize(&config, &File::open(directory).unwrap()).unwrap();
    controller.start(&name).unwrap();
    // The last one is where a controller and a file system expect the clock.
    for seconds in [0, -DAY, 12 * HOUR, 3 * DAY, -40 * 365 * DAY, 0] {
        stage.daemon.set_clock(seconds);
        stage.wait_for_snapshots();
    }
    let summary = controller.stop(&name).unwrap();
    assert_eq!(summary.failure, None);
    let held: Vec<_> = summary.conditions.iter().filter(|(_, times)| *times != 0).collect();
    assert!(matches!(held[..], [(condition, _)] if condition.starts_with("every:")), "{held:?}");
    let times = u32::try_from(held[0].1).unwrap();
    assert!(summary.duration >= INTERVAL * (times - 1), "{times} in {:?}", summary.duration);
    let snapshots = snapshots(directory);
    assert!(snapshots.is_sorted(), "{snapshots:?}");
    let future = utc(SystemTime::now() + Duration::from_secs(2 * DAY as u64));
    let last = snapshots.last().expect("there are some");
    assert!(
        *last > directory.join(format!("out-snapshot-{future}")),
        "the clock was set: {last:?}"
    );
    snapshots.iter().for_each(|path| drop(Archive::read(path)));
    let archive = Archive::read(&directory.join("out.fxt"));
    let words = archive.only().numbers("word");
    let lost: u64 = archive.only().lost.values().sum();
    let (first, last) = (words[0], words[words.len() - 1]);
    assert!(last - first < words.len() as u64 + lost, "{first} to {last}: {}", words.len());
    let stderr = fs::read_to_string(directory.join("stderr")).unwrap();
    assert!(!stderr.contains("panicked"), "{stderr}");
}
