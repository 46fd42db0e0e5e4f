//! Files of perf, against what perf prints of them, and damaged ones.
#![cfg(target_os = "linux")]

use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use trace_analyze::input::InputFormat;
use trace_format::{Reader, Record, Value};
use trace_kernel::perf_data::PerfData;

/// The least address that is a mark of the kernel in a chain of addresses.
const MARKS: u64 = -4095_i64 as u64;

/// The most frames of a record.
const MAX_FRAMES: usize = 255;

/// Returns the directory in `TRACE_KERNEL_PERF_FILES`, or that of this repository.
fn directory() -> PathBuf {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/perf");
    std::env::var_os("TRACE_KERNEL_PERF_FILES").map_or(kept, PathBuf::from)
}

/// Returns the bytes of a recording; the large ones of this repository are compressed.
fn recording(name: &str) -> Vec<u8> {
    let path = directory().join(format!("{name}.data"));
    let packed = path.with_extension("data.gz");
    if !packed.exists() {
        return fs::read(path).unwrap();
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(packed).unwrap();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    bytes
}

fn text(name: &str) -> String {
    fs::read_to_string(directory().join(name)).unwrap()
}

/// Returns a recording as an archive, up to the first error.
fn archive(bytes: &[u8]) -> (Vec<u8>, Option<String>) {
    let mut archive = Vec::new();
    let read = PerfData.open(Box::new(bytes)).and_then(|mut it| it.read_to_end(&mut archive));
    (archive, read.err().map(|error| error.to_string()))
}

fn whole_archive(bytes: &[u8]) -> Vec<u8> {
    let (archive, error) = archive(bytes);
    assert_eq!(error, None);
    archive
}

/// A sample: time, process, thread, event and stack; without a stack, the address.
type Sample = (u64, u64, u64, String, Vec<u64>);

/// Returns the samples of an archive, in which an event without a stack has its name.
fn samples(archive: &[u8]) -> Vec<Sample> {
    let mut reader = Reader::new(archive);
    let mut samples = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        match &item.record {
            Record::Backtrace(it) => {
                let koids = item.thread(it.thread);
                let frames = it.frames.iter().collect();
                samples.push((it.ticks, koids.process, koids.thread, String::new(), frames));
            }
            Record::Event(it) if item.text(it.category) == "cpu:perf" => {
                let koids = item.thread(it.thread);
                let address = it.arguments.iter().find_map(|argument| match argument.value {
                    Value::Pointer(address) => Some(address),
                    _ => None,
                });
                let name = item.text(it.name).into_owned();
                let frames = address.into_iter().collect();
                samples.push((it.ticks, koids.process, koids.thread, name, frames));
            }
            _ => {}
        }
    }
    samples.sort();
    samples
}

/// Returns the samples that perf prints: a line of each, lines of its stack, and its event.
fn samples_of_perf(name: &str) -> Vec<Sample> {
    let mut samples: Vec<(Sample, u64)> = Vec::new();
    for line in text(&format!("{name}.samples")).lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["sample", time, process, thread, address] => {
                // A thread that has ended is -1.
                let id = |text: &str| text.parse::<i64>().unwrap().max(0) as u64;
                let (process, thread) = (id(process), id(thread));
                let sample = (time.parse().unwrap(), process, thread, String::new(), Vec::new());
                let address = u64::from_str_radix(&address[2..], 16).unwrap();
                samples.push((sample, address));
            }
            // The first event of a group is that of the sample.
            ["event", event] => {
                let (sample, _) = samples.last_mut().unwrap();
                if sample.3.is_empty() {
                    sample.3 = event.to_owned();
                }
            }
            [address] => {
                let address = u64::from_str_radix(address, 16).unwrap();
                let (sample, _) = samples.last_mut().unwrap();
                sample.4.extend((address < MARKS).then_some(address));
            }
            _ => panic!("{line}"),
        }
    }
    let ours = |(mut sample, address): (Sample, u64)| {
        let first = if name == "varying" { "page-faults" } else { "cpu-clock" };
        if sample.3.starts_with(first) {
            sample.3.clear();
            sample.4.truncate(MAX_FRAMES);
        } else {
            sample.4 = vec![address];
        }
        sample
    };
    let mut samples: Vec<Sample> = samples.into_iter().map(ours).collect();
    samples.sort();
    samples
}

#[test]
fn samples_are_those_of_perf() {
    for name in ["clock", "compressed", "two", "group", "switches", "machine", "varying", "pipe"] {
        let (ours, theirs) = (samples(&whole_archive(&recording(name))), samples_of_perf(name));
        assert!(!theirs.is_empty(), "{name}");
        assert_eq!(ours.len(), theirs.len(), "{name}");
        for (our, their) in ours.iter().zip(&theirs) {
            assert_eq!(our, their, "{name}");
        }
    }
    let two = samples(&whole_archive(&recording("two")));
    assert!(two.iter().any(|sample| !sample.3.is_empty()), "the second event has instants");
}

/// Returns the switches of an archive: time, CPU, outgoing and incoming thread.
fn switches(archive: &[u8]) -> Vec<(u64, u16, u64, u64)> {
    let mut reader = Reader::new(archive);
    let mut switches = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        if let Record::ContextSwitch(it) = &item.record {
            switches.push((it.ticks, it.cpu, it.outgoing_thread, it.incoming_thread));
        }
    }
    switches
}

/// Parses the thread, the CPU and the time of a line of `perf script`.
fn place(line: &str) -> (u64, u16, u64) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let time = words[2].trim_end_matches(':').replace('.', "");
    let cpu = words[1].trim_matches(['[', ']']).parse().unwrap();
    (words[0].parse().unwrap(), cpu, time.parse().unwrap())
}

/// A thread leaves its CPU by a switch or by its end.
#[test]
fn records_of_switches_are_those_of_perf() {
    let ours = switches(&whole_archive(&recording("switches")));
    let text = text("switches.txt");
    assert_eq!(ours.len(), text.lines().count());
    assert!(text.contains("SWITCH IN") && text.contains("SWITCH OUT") && text.contains("EXIT"));
    for (our, line) in ours.iter().zip(text.lines()) {
        let (thread, cpu, time) = place(line);
        let ours = if line.contains("SWITCH IN") { our.3 } else { our.2 };
        assert_eq!((our.0, our.1, ours), (time, cpu, thread), "{line}");
    }
}

/// With `-a`, a switch is a record of each of its threads.
#[test]
fn switches_of_the_machine_are_those_of_perf() {
    let ours = switches(&whole_archive(&recording("machine")));
    let ours: HashSet<_> = ours.into_iter().collect();
    let text = text("machine.txt");
    assert!(text.lines().count() > 10, "{text}");
    for line in text.lines() {
        let ((thread, cpu, time), (_, next)) = (place(line), line.rsplit_once(' ').unwrap());
        assert!(ours.contains(&(time, cpu, thread, next.parse().unwrap())), "{line}");
    }
}

/// Returns the weights of samples: time, thread, and weight.
fn weights(archive: &[u8]) -> Vec<(u64, u64, u64)> {
    let mut reader = Reader::new(archive);
    let (mut weights, mut next) = (Vec::new(), None);
    while let Some(item) = reader.next().unwrap() {
        match &item.record {
            Record::Event(it) if item.text(it.name) == "sample weight" => {
                next = it.arguments.iter().find_map(|argument| match argument.value {
                    Value::Uint64(weight) => Some(weight),
                    _ => None,
                });
            }
            Record::Backtrace(it) => {
                weights.push((it.ticks, item.thread(it.thread).thread, next.take().unwrap_or(1)));
            }
            _ => {}
        }
    }
    weights.sort_unstable();
    weights
}

#[test]
fn weights_are_the_periods_of_perf() {
    let ours = weights(&whole_archive(&recording("varying")));
    let text = text("varying.periods");
    let theirs = text.lines().map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let time = words[1].trim_end_matches(':').replace('.', "");
        (time.parse().unwrap(), words[0].parse().unwrap(), words[2].parse().unwrap())
    });
    let mut theirs: Vec<(u64, u64, u64)> = theirs.collect();
    theirs.sort_unstable();
    assert_eq!(ours, theirs);
    assert!(theirs.iter().any(|(.., period)| *period > 1), "{text}");
}

#[test]
fn tracepoints_are_those_of_perf() {
    for name in ["sched", "sched-pipe"] {
        let file = format!("{name}.txt");
        if !directory().join(&file).exists() {
            assert_eq!(name, "sched", "this repository has the other one");
            continue;
        }
        let archive = whole_archive(&recording(name));
        let text = text(&file);
        let field = |line: &str, name: &str| {
            let rest = &line[line.rfind(name).unwrap() + name.len()..];
            rest.split_whitespace().next().unwrap().parse::<u64>().unwrap()
        };
        let lines = || text.lines().filter(|line| line.contains("sched:sched_switch:"));
        let theirs = lines().map(|line| {
            let (_, cpu, time) = place(line);
            (time, cpu, field(line, " prev_pid="), field(line, " next_pid="))
        });
        let theirs: Vec<_> = theirs.collect();
        assert!(!theirs.is_empty());
        assert_eq!(switches(&archive), theirs, "{name}");
        let mut reader = Reader::new(&*archive);
        let mut wakeups = Vec::new();
        while let Some(item) = reader.next().unwrap() {
            if let Record::ThreadWakeup(it) = &item.record {
                wakeups.push((it.ticks, it.thread, u64::from(it.cpu)));
            }
        }
        let theirs = text.lines().filter(|line| line.contains("sched:sched_waking:"));
        let theirs =
            theirs.map(|line| (place(line).2, field(line, " pid="), field(line, " target_cpu=")));
        assert_eq!(wakeups, theirs.collect::<Vec<_>>(), "{name}");
    }
}

/// Names of threads and modules with build ids are there, and what the recording was.
#[test]
fn names_modules_and_the_recording() {
    let archive = whole_archive(&recording("clock"));
    let thread = samples(&archive)[0].2;
    let mut reader = Reader::new(&*archive);
    let (mut names, mut modules, mut logs) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(item) = reader.next().unwrap() {
        match &item.record {
            Record::KernelObject(it) if it.koid == thread => {
                names.push(item.text(it.name).into_owned());
            }
            Record::Module(it) => {
                let name = String::from_utf8_lossy(it.name).into_owned();
                modules.push((name, it.build_id.len()));
            }
            Record::Log(it) => logs.push(String::from_utf8_lossy(it.message).into_owned()),
            _ => {}
        }
    }
    assert_eq!(names.first().map(String::as_str), Some("perf-exec"), "the name before exec");
    assert!(names.len() > 1 && names.last() != names.first(), "{names:?}");
    assert!(modules.iter().any(|(name, _)| name == "[kernel.kallsyms]"), "{modules:?}");
    assert!(modules.iter().any(|(_, build_id)| *build_id == 20), "{modules:?}");
    assert!(logs[0].contains("perf record -q -e cpu-clock -F 997 -g"), "{logs:?}");
    assert!(logs[1].contains("clock of perf"), "{logs:?}");
}

/// A file has the sizes of its parts, so each cut is seen. A pipe has none: it may end anywhere.
#[test]
fn cut_files_are_errors_after_the_records_before() {
    let whole = recording("clock");
    let all = samples(&whole_archive(&whole));
    // A buffer of another CPU, with earlier samples, may be behind the cut.
    let known: HashSet<_> = all.iter().collect();
    let mut most = 0;
    for length in (0..whole.len()).step_by(37) {
        let (archive, error) = archive(&whole[..length]);
        assert!(error.is_some(), "{length} of {}", whole.len());
        let found = if archive.is_empty() { Vec::new() } else { samples(&archive) };
        let distinct: HashSet<_> = found.iter().collect();
        assert!(found.len() >= most && distinct.is_subset(&known), "{length}");
        most = found.len();
    }
    assert_eq!(most, all.len(), "the end of a file has no samples");
    for name in ["pipe", "compressed", "two"] {
        let whole = recording(name);
        let all = samples(&whole_archive(&whole));
        for length in (0..whole.len()).step_by(whole.len() / 50) {
            let (archive, _) = archive(&whole[..length]);
            let found = if archive.is_empty() { Vec::new() } else { samples(&archive) };
            assert!(found.len() <= all.len(), "{name}: {length}");
        }
    }
}

/// A recording with some changed bytes.
fn changed(name: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let whole = recording(name);
    let place = 0..whole.len();
    let changes = prop::collection::vec((place, any::<u8>()), 1..20);
    changes.prop_map(move |changes| {
        let mut bytes = whole.clone();
        changes.into_iter().for_each(|(place, byte)| bytes[place] = byte);
        bytes
    })
}

/// Returns the archive of any bytes, which is well-formed and not much larger.
fn check(bytes: &[u8]) {
    let (archive, _) = archive(bytes);
    assert!(archive.len() <= bytes.len() * 64 + 65_536, "{} of {}", archive.len(), bytes.len());
    if archive.is_empty() {
        return;
    }
    let mut reader = Reader::new(&*archive);
    while let Some(item) = reader.next().unwrap() {
        assert!(!item.bytes.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(
        is_pipe in any::<bool>(),
        is_big in any::<bool>(),
        bytes in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let magic = if is_big { b"2ELIFREP" } else { b"PERFILE2" };
        let size = if is_pipe { 16_u64 } else { 104 };
        let size = if is_big { size.to_be_bytes() } else { size.to_le_bytes() };
        check(&[&magic[..], &size, &bytes].concat());
        check(&bytes);
    }

    #[test]
    fn changed_recordings_never_panic(
        clock in changed("clock"),
        pipe in changed("pipe"),
        two in changed("two"),
        compressed in changed("compressed"),
    ) {
        for bytes in [clock, pipe, two, compressed] {
            check(&bytes);
        }
    }
}
