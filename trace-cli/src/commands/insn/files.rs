//! The files of a recording that this program writes.

use std::fs;
use std::path::Path;
use std::process;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use trace_insntrace::controller::ctl;
use trace_insntrace::hardware::Pmu;
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
    /// Begins a recording in `directory`. The times of its packets are time stamps.
    pub(super) fn create(directory: &'a Path) -> Result<Self> {
        Self::create_of(directory, "mtc_freq: 0\n")
    }

    /// Begins a recording of the packets of buffers with this control register.
    pub(super) fn create_of_buffers(directory: &'a Path, register: u64) -> Result<Self> {
        Self::create_of(directory, &options(register))
    }

    fn create_of(directory: &'a Path, options: &str) -> Result<Self> {
        let clock = Clock { now: clock::ticks, ticks_per_second: measure_rate()? };
        let writer = Writer::create(directory, clock, &(processor() + options));
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
        files.writer.begin().with_context(|| failed(directory))?;
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
        self.writer.complete().with_context(|| failed(self.directory))
    }

    /// Ends the files of a recording that has failed: they stay incomplete.
    pub(super) fn close(&mut self) -> Result<()> {
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

/// Returns the options of packets of buffers with this control register.
fn options(register: u64) -> String {
    let mtc = ctl::MtcFrequency::get(register) * ctl::MtcEnable::get(register);
    let cycles = ctl::CycleThreshold::get(register) * ctl::CycleEnable::get(register);
    let psb = ctl::PsbFrequency::get(register);
    let mut text =
        format!("ctl: {register:#x}\nmtc_freq: {mtc}\ncyc_thresh: {cycles}\npsb_freq: {psb}\n");
    let pmu = Pmu::find().ok();
    if let Some((counter, crystal)) = pmu.as_ref().and_then(Pmu::crystal_ratio) {
        text.push_str(&format!("tsc_art_ratio: {counter}:{crystal}\n"));
    }
    if let Some(ratio) = pmu.as_ref().and_then(Pmu::nominal_ratio) {
        text.push_str(&format!("max_nonturbo_ratio: {ratio}\n"));
    }
    text
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_those_of_the_control_register() {
        let packets = ctl::MtcFrequency::make(3) | ctl::PsbFrequency::make(5);
        let lines = |register| {
            let text = options(register);
            text.lines().skip(1).take(3).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(lines(packets), ["mtc_freq: 0", "cyc_thresh: 0", "psb_freq: 5"]);
        let with_mtc = lines(packets | ctl::MtcEnable::make(1));
        assert_eq!(with_mtc, ["mtc_freq: 3", "cyc_thresh: 0", "psb_freq: 5"]);
        let cycles = ctl::CycleEnable::make(1) | ctl::CycleThreshold::make(2);
        assert_eq!(lines(cycles), ["mtc_freq: 0", "cyc_thresh: 2", "psb_freq: 0"]);
        assert!(options(0x2400).starts_with("ctl: 0x2400\n"));
    }
}
