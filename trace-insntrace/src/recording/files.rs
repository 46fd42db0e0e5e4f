//! The files of a recording in its directory.
//!
//! | file | content |
//! |---|---|
//! | `insn.thrN.pt` | the packets of trace N, of a thread |
//! | `insn.cpuN.pt` | the packets of CPU N |
//! | `insn.ptlist` | a line `N path` for each trace |
//! | `insn.cpuid` | the processor and its clock, a line each |
//! | `insn.side.fxt` | the notes, as an archive |
//! | `insn.incomplete` | nothing: the recording was not completed |

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use trace_format::{Item, ReadError, Reader, Record, WriteError};

use trace_format::notes::CLOCK_ANCHOR;

use super::note::{Note, TraceId};
use super::side;
use crate::pt::Timing;

const SIDE: &str = "insn.side.fxt";
const CPUID: &str = "insn.cpuid";
const LIST: &str = "insn.ptlist";
const INCOMPLETE: &str = "insn.incomplete";

/// The most bytes that are read of the file of the processor.
const MAX_CPUID_BYTES: u64 = 1 << 16;

/// The line of the file of the processor that has the rate of the time stamps.
const RATE: &str = "tsc_hz: ";

/// The lines that have the distance of MTC packets, the ticks of the time stamp counter for those
/// of the crystal clock, and the highest frequency without turbo in the unit of CBR packets.
const MTC_PERIOD: &str = "mtc_freq: ";
const CRYSTAL_RATIO: &str = "tsc_art_ratio: ";
const NOMINAL_RATIO: &str = "max_nonturbo_ratio: ";

/// The clock of a recording.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// Returns the time in ticks.
    pub now: fn() -> u64,
    /// The number of ticks in a second.
    pub ticks_per_second: u64,
}

/// Writes a recording.
#[derive(Debug)]
pub struct Writer {
    directory: PathBuf,
    clock: Clock,
    side: trace_format::Writer<BufWriter<File>>,
    list: File,
    /// The traces with a file, which is open only while packets are written.
    traces: BTreeSet<TraceId>,
    /// The CPUs of traces.
    cpus: BTreeMap<TraceId, u32>,
}

/// The process of a trace that is that of a CPU.
const NO_PROCESS: u32 = 0;

/// Why a recording could not be written or read. The message is the file, and the source is the
/// reason.
#[derive(Debug)]
pub enum Error {
    /// A file could not be opened, read or written.
    File(PathBuf, io::Error),
    /// The side data could not be written.
    Write(WriteError),
    /// The side data could not be read.
    Read(ReadError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, _) => write!(f, "{}", path.display()),
            Self::Write(_) | Self::Read(_) => f.write_str(SIDE),
        }
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(match self {
            Self::File(_, error) => error,
            Self::Write(error) => error,
            Self::Read(error) => error,
        })
    }
}

fn at(path: &Path) -> impl Fn(io::Error) -> Error + '_ {
    move |error| Error::File(path.to_owned(), error)
}

impl Writer {
    /// Begins a recording in `directory`, which is created if it is missing. `processor` is text
    /// for the file of the processor: lines of the form `name: value`.
    ///
    /// # Errors
    ///
    /// Fails if the directory has a recording, or a file cannot be created.
    pub fn create(directory: &Path, clock: Clock, processor: &str) -> Result<Self, Error> {
        fs::create_dir_all(directory).map_err(at(directory))?;
        let new = |name: &str| {
            let path = directory.join(name);
            File::create_new(&path).map_err(at(&path))
        };
        let mut side =
            trace_format::Writer::new(BufWriter::new(new(SIDE)?)).map_err(Error::Write)?;
        side.provider(1, "insntrace").map_err(Error::Write)?;
        side.initialization(clock.ticks_per_second).map_err(Error::Write)?;
        let cpuid = directory.join(CPUID);
        let text = format!("{processor}{RATE}{}\n", clock.ticks_per_second);
        fs::write(&cpuid, text).map_err(at(&cpuid))?;
        let (directory, list) = (directory.to_owned(), new(LIST)?);
        let (traces, cpus) = (BTreeSet::new(), BTreeMap::new());
        Ok(Self { directory, clock, side, list, traces, cpus })
    }

    /// Appends a note.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be written.
    pub fn note(&mut self, note: &Note) -> Result<(), Error> {
        if let Note::Thread { trace, .. } = note {
            self.cpus.extend(cpu_of(note, *trace).map(|cpu| (*trace, cpu)));
            self.trace(*trace)?;
        }
        side::write(&mut self.side, (self.clock.now)(), note).map_err(Error::Write)
    }

    /// Appends records of an archive, such as clock anchors.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn records(&mut self, words: &[u64]) -> Result<(), Error> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let path = self.directory.join(SIDE);
        self.side.output_mut().write_all(&bytes).map_err(at(&path))
    }

    /// Appends packets to a trace.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn packets(&mut self, trace: TraceId, bytes: &[u8]) -> Result<(), Error> {
        let path = self.directory.join(self.file_name(trace));
        self.trace(trace)?.write_all(bytes).map_err(at(&path))
    }

    /// Writes what is buffered.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be written.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.side.flush().map_err(Error::Write)
    }

    /// Marks the recording as incomplete until [`complete`](Self::complete) is called: something
    /// may end the recording before.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be created.
    pub fn begin(&self) -> Result<(), Error> {
        let path = self.directory.join(INCOMPLETE);
        File::create(&path).map(drop).map_err(at(&path))
    }

    /// Writes what is buffered, and removes the mark of an incomplete recording.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be written or removed.
    pub fn complete(&mut self) -> Result<(), Error> {
        self.flush()?;
        let path = self.directory.join(INCOMPLETE);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::File(path, error)),
            _ => Ok(()),
        }
    }

    /// Removes the files of a recording without traces, and the directory if it is empty.
    pub fn discard(self) {
        for name in [SIDE, CPUID, LIST, INCOMPLETE] {
            // The reason for discarding is the error to report.
            let _ = fs::remove_file(self.directory.join(name));
        }
        let _ = fs::remove_dir(&self.directory);
    }

    fn file_name(&self, trace: TraceId) -> String {
        file_name(trace, self.cpus.get(&trace).copied())
    }

    /// Opens the file of a trace to append to it.
    fn trace(&mut self, trace: TraceId) -> Result<File, Error> {
        let name = self.file_name(trace);
        let path = self.directory.join(&name);
        if self.traces.contains(&trace) {
            return File::options().append(true).open(&path).map_err(at(&path));
        }
        let file = File::create_new(&path).map_err(at(&path))?;
        let list = self.directory.join(LIST);
        writeln!(self.list, "{} {name}", trace.0).map_err(at(&list))?;
        self.traces.insert(trace);
        Ok(file)
    }
}

fn file_name(trace: TraceId, cpu: Option<u32>) -> String {
    match cpu {
        Some(cpu) => format!("insn.cpu{cpu}.pt"),
        None => format!("insn.thr{}.pt", trace.0),
    }
}

/// Returns the CPU of a trace, if this is the note about it.
fn cpu_of(note: &Note, trace: TraceId) -> Option<u32> {
    match note {
        Note::Thread { trace: of, pid: NO_PROCESS, tid: cpu, .. } if *of == trace => Some(*cpu),
        _ => None,
    }
}

/// A recording that was read, without its packets.
#[derive(Debug)]
pub struct Recording {
    directory: PathBuf,
    notes: Vec<Note>,
    anchors: Vec<Anchor>,
    ticks_per_second: u64,
    timing: Timing,
    is_complete: bool,
}

/// A moment on several clocks, each with its name. The first clock is that of the time stamps.
pub type Anchor = Vec<(String, u64)>;

/// A trace of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The number.
    pub id: TraceId,
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// The thread's last name.
    pub name: String,
}

impl Recording {
    /// Reads the side data of a recording.
    ///
    /// # Errors
    ///
    /// Fails if a file is missing or malformed. If the side data is truncated, the notes before
    /// that are used, and the recording is not [complete](Self::is_complete).
    pub fn open(directory: &Path) -> Result<Self, Error> {
        let path = directory.join(SIDE);
        let file = open(&path).map_err(at(&path))?;
        let mut reader = Reader::new(BufReader::new(file));
        let (notes, anchors) = (Vec::new(), Vec::new());
        // Without the file, the time is that of time stamps.
        let mut processor = String::new();
        let _ = open(&directory.join(CPUID))
            .and_then(|file| file.take(MAX_CPUID_BYTES).read_to_string(&mut processor));
        let timing = timing(&processor);
        let is_complete = !directory.join(INCOMPLETE).exists();
        let directory = directory.to_owned();
        let mut recording =
            Self { directory, notes, anchors, ticks_per_second: 0, timing, is_complete };
        loop {
            match reader.next() {
                Ok(Some(item)) => recording.add(&item),
                Ok(None) => return Ok(recording),
                Err(error) if error.is_fatal() && recording.notes.is_empty() => {
                    return Err(Error::Read(error));
                }
                Err(error) => {
                    recording.is_complete = false;
                    if error.is_fatal() {
                        return Ok(recording);
                    }
                }
            }
        }
    }

    fn add(&mut self, item: &Item<'_>) {
        match &item.record {
            Record::Initialization { ticks_per_second } => {
                self.ticks_per_second = *ticks_per_second;
            }
            Record::Event(event) if item.text(event.name) == CLOCK_ANCHOR => {
                let arguments = event.arguments.iter().filter_map(|argument| {
                    Some((item.text(argument.name).into_owned(), argument.value.unsigned()?))
                });
                self.anchors.push(arguments.collect());
            }
            _ => self.notes.extend(side::read(item)),
        }
    }

    /// Returns the moments for which the recording has the time on other clocks.
    #[must_use]
    pub fn anchors(&self) -> &[Anchor] {
        &self.anchors
    }

    /// Returns the notes, in the order of time.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Returns how MTC and CYC packets refine the time.
    #[must_use]
    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// Returns whether the recording was completed and has all notes. Otherwise instructions may be
    /// missing.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Returns the number of ticks in a second.
    #[must_use]
    pub fn ticks_per_second(&self) -> u64 {
        self.ticks_per_second
    }

    /// Returns the traces, by number.
    #[must_use]
    pub fn traces(&self) -> Vec<Trace> {
        let mut traces = BTreeMap::new();
        for note in &self.notes {
            if let Note::Thread { trace, pid, tid, name } = note {
                let found = Trace { id: *trace, pid: *pid, tid: *tid, name: name.clone() };
                traces.insert(*trace, found);
            }
        }
        traces.into_values().collect()
    }

    /// Opens the packets of a trace.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be opened.
    pub fn packets(&self, trace: TraceId) -> Result<File, Error> {
        let cpu = self.notes.iter().rev().find_map(|note| cpu_of(note, trace));
        let path = self.directory.join(file_name(trace, cpu));
        open(&path).map_err(at(&path))
    }
}

/// Opens a file of a recording, which others may have made: only a regular one is read.
fn open(path: &Path) -> io::Result<File> {
    trace_symbols::open(path).ok_or_else(|| match path.metadata() {
        Ok(metadata) if !metadata.is_file() => io::Error::other("it is not a regular file"),
        Ok(_) => io::ErrorKind::PermissionDenied.into(),
        Err(error) => error,
    })
}

/// Returns the timing of packets by the file of the processor.
fn timing(untrusted: &str) -> Timing {
    let value = |name: &str| untrusted.lines().find_map(|line| line.strip_prefix(name));
    let ratio = value(CRYSTAL_RATIO).and_then(|ratio| {
        let (counter, crystal) = ratio.split_once(':')?;
        Some((counter.parse().ok()?, crystal.parse().ok().filter(|crystal| *crystal != 0)?))
    });
    let period = value(MTC_PERIOD).and_then(|period| period.parse().ok());
    let nominal = value(NOMINAL_RATIO).and_then(|ratio| ratio.parse().ok());
    Timing {
        mtc_period: period.unwrap_or(0) & 0xf,
        crystal: ratio,
        nominal: nominal.filter(|ratio| *ratio != 0),
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    /// Reading others might not end.
    #[cfg(unix)]
    #[test]
    fn only_regular_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let clock = Clock { now: || 0, ticks_per_second: 1 };
        let mut writer = Writer::create(folder.path(), clock, "").unwrap();
        let trace = TraceId(0);
        writer.note(&Note::Thread { trace, pid: 1, tid: 1, name: String::new() }).unwrap();
        writer.flush().unwrap();
        let reason = |error: Error| error.source().unwrap().to_string();
        for name in [CPUID, "insn.thr0.pt", SIDE] {
            fs::remove_file(path(name)).unwrap();
            let made = std::process::Command::new("mkfifo").arg(path(name)).status().unwrap();
            assert!(made.success());
            let opened = Recording::open(folder.path());
            let packets = opened.and_then(|it| it.packets(trace));
            let reason = packets.map_err(reason).err();
            let expected = (name != CPUID).then(|| "it is not a regular file".to_owned());
            assert_eq!(reason, expected, "{name}");
        }
    }

    #[test]
    fn a_recording_that_was_not_completed_or_is_cut_is_incomplete() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock { now: || 0, ticks_per_second: 1 };
        let mut writer = Writer::create(folder.path(), clock, "").unwrap();
        let is_complete = || Recording::open(folder.path()).unwrap().is_complete();
        writer.begin().unwrap();
        let trace = TraceId(0);
        for name in ["one", "two"] {
            writer.note(&Note::Thread { trace, pid: 1, tid: 1, name: name.to_owned() }).unwrap();
        }
        writer.flush().unwrap();
        assert!(!is_complete());
        writer.complete().unwrap();
        assert!(is_complete());
        writer.complete().unwrap();
        let side = File::options().write(true).open(folder.path().join(SIDE)).unwrap();
        side.set_len(side.metadata().unwrap().len() - 8).unwrap();
        assert!(!is_complete());
    }

    #[test]
    fn the_packets_of_a_cpu_have_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock { now: || 0, ticks_per_second: 1 };
        let mut writer = Writer::create(folder.path(), clock, "").unwrap();
        // The second CPU that is online.
        let (trace, name) = (TraceId(1), "CPU 3".to_owned());
        writer.note(&Note::Thread { trace, pid: 0, tid: 3, name }).unwrap();
        writer.packets(trace, &[1, 2]).unwrap();
        writer.flush().unwrap();
        let list = fs::read_to_string(folder.path().join(LIST)).unwrap();
        assert_eq!(list, "1 insn.cpu3.pt\n");
        let mut packets = Recording::open(folder.path()).unwrap().packets(trace).unwrap();
        let mut bytes = Vec::new();
        packets.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, [1, 2]);
    }

    #[test]
    fn the_timing_is_that_of_the_file_of_the_processor() {
        let timing = timing as fn(&str) -> Timing;
        let expected = Timing { mtc_period: 3, crystal: Some((250, 2)), nominal: None };
        assert_eq!(timing("ctl: 0x1\nmtc_freq: 3\ntsc_art_ratio: 250:2\ntsc_hz: 9\n"), expected);
        let nominal = timing("max_nonturbo_ratio: 30\n");
        assert_eq!(nominal, Timing { nominal: Some(30), ..Timing::default() });
        assert_eq!(timing("max_nonturbo_ratio: 256\nmax_nonturbo_ratio: 0"), Timing::default());
        for none in ["", "mtc_freq: x\ntsc_art_ratio: 1\n", "tsc_art_ratio: 1:0", "mtc_freq: 16"] {
            assert_eq!(timing(none), Timing::default(), "{none}");
        }
    }
}
