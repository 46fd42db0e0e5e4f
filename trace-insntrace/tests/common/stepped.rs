//! Programs under the step engine.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use trace_insntrace::flow::{Event, Image, Item};
use trace_insntrace::pt::Writer;
use trace_insntrace::recording::{Note, SpaceId, ThreadEnd, TraceDecoder, TraceId};
use trace_insntrace::step::{Engine, Executed, Options, Tracer};

/// The output of the program `program.c`.
pub(crate) const OUTPUT: &str = "0 100 100 105 copied\n";

/// The trace of the first thread.
pub(crate) const FIRST: TraceId = TraceId(0);

/// A run of a program.
#[derive(Default)]
pub(crate) struct Stepped {
    pub(crate) executed: Vec<Executed>,
    pub(crate) packets: BTreeMap<TraceId, Vec<u8>>,
    pub(crate) notes: Vec<Note>,
}

impl Stepped {
    pub(crate) fn executed_by(&self, trace: TraceId) -> Vec<u64> {
        let of_trace = self.executed.iter().filter(|executed| executed.trace == trace);
        of_trace.map(|executed| executed.ip).collect()
    }

    pub(crate) fn decode(&self, trace: TraceId) -> (Vec<u64>, Vec<Event>) {
        let mut decoder = TraceDecoder::new(&self.notes, trace, &self.packets[&trace][..]);
        let (mut ips, mut events) = (Vec::new(), Vec::new());
        while let Some(item) = decoder.next_item().unwrap() {
            match item.unwrap() {
                Item::Instruction(instruction) => ips.push(instruction.ip),
                Item::Event(event) => events.push(event),
            }
        }
        (ips, events)
    }

    /// Returns the newest code of an address space.
    pub(crate) fn image(&self, of: SpaceId) -> Image {
        let mut image = Image::new();
        for note in &self.notes {
            match note {
                Note::Code { space, address, bytes } if *space == of => {
                    image.insert(*address, bytes);
                }
                _ => {}
            }
        }
        image
    }

    /// Returns the packets of a trace, by address space.
    pub(crate) fn parts(&self, of: TraceId) -> Vec<(SpaceId, &[u8])> {
        let mut starts: Vec<(SpaceId, usize)> = Vec::new();
        for note in &self.notes {
            match note {
                Note::Position { trace, offset, space } if *trace == of => {
                    starts.push((*space, *offset as usize));
                }
                _ => {}
            }
        }
        starts.dedup_by_key(|(space, _)| *space);
        let packets = &self.packets[&of];
        let ends = starts.iter().skip(1).map(|(_, start)| *start).chain([packets.len()]);
        starts
            .iter()
            .zip(ends)
            .map(|((space, start), end)| (*space, &packets[*start..end]))
            .collect()
    }

    /// Checks that the traces have the executed instructions, without a gap.
    #[track_caller]
    pub(crate) fn check(&self) {
        let gaps = self.check_with_gaps();
        assert_eq!(gaps, 0, "instructions are missing");
    }

    /// Checks that the traces have the executed instructions. Returns the number of gaps.
    #[track_caller]
    pub(crate) fn check_with_gaps(&self) -> usize {
        let mut gaps = 0;
        for trace in self.packets.keys() {
            let ((found, events), executed) = (self.decode(*trace), self.executed_by(*trace));
            let is_gap = |event: &&Event| matches!(event, Event::Overflow { .. });
            gaps += events.iter().filter(is_gap).count();
            let first = found.iter().zip(&executed).position(|(found, it)| found != it);
            assert_eq!(first, None, "{trace:?}: of {} and {}", found.len(), executed.len());
            assert_eq!(found.len(), executed.len(), "{trace:?}");
        }
        gaps
    }

    pub(crate) fn drain(&mut self, tracer: &mut Tracer) {
        self.notes.extend(tracer.take_notes());
        for (trace, bytes) in tracer.take_packets() {
            self.packets.entry(trace).or_default().extend(bytes);
        }
    }
}

pub(crate) fn options(writer: Writer) -> Options {
    Options {
        engine: Engine::Step,
        writer,
        clock: || 0,
        has_time: true,
        psb_bytes: Options::PSB_BYTES,
        ranges: Vec::new(),
        budget: None,
    }
}

/// Steps until no thread is traced any more.
pub(crate) fn finish(tracer: &mut Tracer) -> Stepped {
    let mut stepped = Stepped::default();
    while let Some(executed) = tracer.step().unwrap() {
        stepped.executed.push(executed);
        if stepped.executed.len() % 1000 == 0 {
            stepped.drain(tracer);
        }
    }
    stepped.drain(tracer);
    stepped
}

/// Runs a command to its end.
pub(crate) fn trace(command: &mut Command, options: Options) -> (Stepped, ThreadEnd) {
    let mut tracer = Tracer::start(command, options).unwrap();
    let stepped = finish(&mut tracer);
    (stepped, tracer.wait().unwrap())
}

/// Runs `program.c` to its end, and checks its output.
pub(crate) fn run(writer: Writer) -> Stepped {
    let mut command = Command::new(program("program.c"));
    command.stdout(Stdio::piped());
    let mut tracer = Tracer::start(&mut command, options(writer)).unwrap();
    let stepped = finish(&mut tracer);
    let mut output = String::new();
    let stdout = tracer.child_mut().unwrap().stdout.take();
    stdout.unwrap().read_to_string(&mut output).unwrap();
    assert_eq!(output, OUTPUT);
    assert_eq!(tracer.wait().unwrap(), ThreadEnd::Exited(7));
    stepped
}

/// Compiles a program of `tests/step`, statically if the system has the libraries: it then executes
/// fewer instructions. It is compiled once: the mappings of a program whose file is replaced have
/// no file.
pub(crate) fn program(source: &str) -> PathBuf {
    static COMPILED: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let path = compiled.entry(source.to_owned()).or_insert_with(|| compile(source));
    path.clone()
}

fn compile(source: &str) -> PathBuf {
    let name = format!("{}-{}", env!("CARGO_CRATE_NAME"), source.trim_end_matches(".c"));
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // A program that runs cannot be written: a new one replaces it.
    let new = path.with_extension(std::process::id().to_string());
    let compile = |options: &[&str]| compile_to(&new, source, options);
    assert!(compile(&["-O1", "-static"]) || compile(&["-O1"]));
    std::fs::rename(&new, &path).unwrap();
    path
}

/// Compiles a program or a library of `tests/step`. Returns whether the compiler could do it.
pub(crate) fn compile_to(path: &Path, source: &str, options: &[&str]) -> bool {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/step").join(source);
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let mut command = Command::new(compiler);
    command.args(["-pthread", "-g", "-o"]).arg(path).arg(source).args(options);
    command.status().unwrap().success()
}
