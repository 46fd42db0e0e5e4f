//! The files of a recording that this program writes.

use std::fs;
use std::path::Path;
use std::process;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use trace_insntrace::recording::{self, Clock, Note, TraceId, Writer};
use trace_protocol::archive::{anchor, ClockSample, Identity};
use trace_protocol::clock;
use trace_protocol::message::ClockSource;

/// How long the rate of the clock is measured.
const MEASURE_CLOCK: Duration = Duration::from_millis(20);

/// The files of a recording.
pub(super) struct Files<'a> {
    directory: &'a Path,
    writer: Writer,
    identity: Identity,
}

impl<'a> Files<'a> {
    /// Begins a recording in `directory`.
    pub(super) fn create(directory: &'a Path) -> Result<Self> {
        let clock = Clock { now: clock::ticks, ticks_per_second: measure_rate()? };
        let writer = Writer::create(directory, clock, &processor());
        let identity = Identity {
            id: 1,
            name: "insntrace".into(),
            process_name: "trace-insn".into(),
            pid: process::id(),
            uid: rustix::process::getuid().as_raw(),
            clock: ClockSource::CpuCounter,
        };
        let writer = writer.with_context(|| failed(directory))?;
        let mut files = Self { directory, writer, identity };
        files.write_anchor()?;
        Ok(files)
    }

    /// Removes the files.
    pub(super) fn discard(self) {
        self.writer.discard();
    }

    /// Returns the recording, to write notes and packets.
    pub(super) fn recording(&mut self) -> &mut Writer {
        &mut self.writer
    }

    fn write_anchor(&mut self) -> Result<()> {
        let mut words = Vec::new();
        anchor(&mut words, &self.identity, &ClockSample::now());
        self.writer.records(&words).with_context(|| failed(self.directory))
    }

    /// Appends notes and packets.
    pub(super) fn write(
        &mut self,
        notes: Vec<Note>,
        packets: Vec<(TraceId, Vec<u8>)>,
    ) -> Result<()> {
        self.write_all(&notes, &packets).with_context(|| failed(self.directory))
    }

    fn write_all(
        &mut self,
        notes: &[Note],
        packets: &[(TraceId, Vec<u8>)],
    ) -> Result<(), recording::Error> {
        for note in notes {
            self.writer.note(note)?;
        }
        for (trace, bytes) in packets {
            self.writer.packets(*trace, bytes)?;
        }
        self.writer.flush()
    }

    /// Completes the files.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.write_anchor()?;
        self.writer.flush().with_context(|| failed(self.directory))
    }
}

fn failed(directory: &Path) -> String {
    format!("cannot record in {}", directory.display())
}

fn measure_rate() -> Result<u64> {
    let first = ClockSample::now();
    thread::sleep(MEASURE_CLOCK);
    let rate = ClockSample::now().rate_since(&first, ClockSource::CpuCounter);
    rate.context("cannot measure the rate of the clock")
}

/// Returns what the kernel reports about the first processor.
fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let names = ["vendor_id", "cpu family", "model", "model name", "stepping"];
    let field = |line: &str| {
        let (name, value) = line.split_once(':')?;
        let name = name.trim_end();
        names.contains(&name).then(|| format!("{}:{value}\n", name.replace(' ', "_")))
    };
    text.lines().take_while(|line| !line.is_empty()).filter_map(field).collect()
}
