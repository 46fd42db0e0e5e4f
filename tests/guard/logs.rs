//! XRay logs of killed recordings: `trace record --format xray`.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use trace_analyze::input::InputFormat;
use trace_format::Reader;
use trace_xray::fxt::Fdr;
use trace_xray::map::Map;
use trace_xray::read::Ordered;
use trace_xray::Record;

use crate::numbers::Numbers;
use crate::stage::{Chance, Stage};
use crate::{kill, Victims, MODES};

/// The log that a recording has written.
struct Log {
    log: PathBuf,
    map: PathBuf,
}

impl Log {
    /// Returns the only log of a directory, which has no other files than it and its map.
    fn only(stage: &Stage, context: &str) -> Self {
        let entries = fs::read_dir(stage.logs()).expect("the recording has made it");
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("it is listed").path()).collect();
        paths.sort();
        let [map, log] = &paths[..] else { panic!("{context}: {paths:?}: {}", stage.stderr()) };
        assert_eq!(*map, log.with_extension("map"), "{context}");
        Self { log: log.clone(), map: map.clone() }
    }

    fn numbers(&self) -> Numbers {
        let map = Map::parse(&fs::read(&self.map).expect("it is listed")).expect("it is a map");
        let log = File::open(&self.log).expect("it is listed");
        let archive = Fdr { map }.open(Box::new(log)).expect("it is a log");
        Numbers::read_from(Reader::new(archive))
    }

    /// Checks that LLVM's reader has each event, among which are the numbers.
    fn verify(&self) {
        let mut xray = Command::new("llvm-xray-19");
        let output = xray.args(["fdr-dump", "-verify"]).arg(&self.log).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut xray = Command::new("llvm-xray-19");
        xray.args(["convert", "-f", "yaml", "-symbolize", "-m"]).arg(&self.map).arg(&self.log);
        let output = xray.output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let yaml = String::from_utf8_lossy(&output.stdout);
        assert_eq!(yaml.matches("kind: custom-event,").count(), self.events());
    }

    /// Returns the number of custom events, also of those that only fill a thread buffer.
    fn events(&self) -> usize {
        let mut log =
            Ordered::new(File::open(&self.log).expect("it is listed")).expect("it is a log");
        let mut events = 0;
        while let Some(item) = log.next().expect("it is well-formed") {
            events += usize::from(matches!(item.record, Record::CustomEvent(_)));
        }
        events
    }
}

const VICTIMS: [Victims; 4] =
    [Victims::Manager, Victims::ProgramAndManager, Victims::ManagerAndProgram, Victims::Group];

/// Kills each of `victims` in each mode. `check` gets each log.
fn rounds(victims: &[Victims], check: impl Fn(&Log)) {
    let mut chance = Chance::new(77);
    for (victims, mode) in victims.iter().flat_map(|victims| MODES.map(|mode| (*victims, mode))) {
        let context = format!("{mode}, {victims:?}");
        let stage = Stage::with_logs(mode, "4M");
        stage.wait_for_numbers(10_000 + chance.up_to(10_000));
        std::thread::sleep(chance.time(Duration::from_millis(20)));
        let known = kill(&stage, victims, chance.time(Duration::from_millis(3)));
        stage.wait_for_guard_to_end();
        let log = Log::only(&stage, &context);
        log.numbers().check(mode, &known, &context);
        check(&log);
    }
}

#[test]
fn logs_of_killed_recordings_have_each_number() {
    rounds(&VICTIMS, |_| {});
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn llvm_reads_logs_of_killed_recordings() {
    rounds(&VICTIMS, Log::verify);
}

#[test]
fn the_log_of_a_killed_program_has_each_number() {
    for mode in MODES {
        let mut stage = Stage::with_logs(mode, "4M");
        stage.wait_for_numbers(10_000);
        stage.stop_recording();
        let log = Log::only(&stage, mode);
        log.numbers().check(mode, &stage.published(), mode);
    }
}

/// Only what the manager has written is left. `trace recover` makes a log of it.
#[test]
fn logs_are_recovered_after_a_kill_of_the_guard_and_the_manager() {
    let stage = Stage::with_logs("streaming", "1M");
    // A buffer of 1 MiB has been saved several times.
    stage.wait_for_numbers(200_000);
    stage.kill_guard();
    stage.kill_group();
    let entries = fs::read_dir(stage.logs()).expect("the recording has made it");
    assert_eq!(entries.count(), 1, "the partial archive");
    stage.recover_logs();
    let log = Log::only(&stage, "recovered");
    assert!(log.numbers().has_all_up_to(1000));
}
