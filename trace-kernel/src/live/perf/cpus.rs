//! The events of all CPUs, and their records in the order of time.

use std::io;

use super::cpu::{Cpu, CpuEvents};
use super::hotplug::{self, Hotplug};
use super::record::{Body, SampleLayout};
use super::ring::Ring;
use super::sys::{Attributes, Target};
use super::throttled::Throttled;
use super::timed::Timed;
use crate::live::backend::{Output, Progress};
use crate::live::clock::{monotonic_raw, TraceClock};
use crate::page::Missed;

/// The events of all CPUs.
#[derive(Debug)]
pub(super) struct Cpus {
    cpus: Vec<Cpu>,
    waiting: Vec<Timed>,
    throttled: Throttled,
    hotplug: Hotplug,
    /// Whether the events are enabled.
    is_on: bool,
    /// The start of the last round.
    last_end: u64,
}

impl Cpus {
    /// Opens the events and ring buffers of all CPUs. Each target has an event on each CPU.
    pub(super) fn open(
        attributes: &Attributes,
        layout: SampleLayout,
        targets: &[Target],
        bytes: u64,
    ) -> io::Result<Self> {
        let events: Vec<_> = targets.iter().map(|target| (*attributes, *target)).collect();
        Self::open_events(&events, layout, bytes)
    }

    /// Opens events on each CPU, which share a ring buffer.
    pub(super) fn open_events(
        events: &[(Attributes, Target)],
        layout: SampleLayout,
        bytes: u64,
    ) -> io::Result<Self> {
        let targets: Vec<Target> = events.iter().map(|(_, target)| *target).collect();
        let hotplug = Hotplug::new(events, layout, bytes);
        let opened = hotplug.cpus().into_iter().map(|number| CpuEvents::open(number, events));
        let opened = opened.filter(|cpu| !cpu.as_ref().is_err_and(hotplug::is_offline));
        let events = opened.collect::<io::Result<Vec<_>>>()?;
        let rings = Ring::map(events.iter().map(CpuEvents::first), bytes)?;
        let cpus = events.into_iter().zip(rings);
        let cpus = cpus.map(|(events, ring)| Cpu::new(events, ring, layout));
        let cpus = cpus.collect::<io::Result<_>>()?;
        let throttled = Throttled::new(&targets);
        Ok(Self { cpus, waiting: Vec::new(), throttled, hotplug, is_on: false, last_end: 0 })
    }

    /// Starts the events.
    pub(super) fn start(&mut self) -> Result<(), String> {
        self.last_end = 0;
        self.throttled.clear();
        // Those that have come online since the events were opened.
        let (_, opened) = self.open_new();
        self.is_on = true;
        opened.and(self.set_enabled(true))
    }

    /// Stops the events.
    pub(super) fn stop(&mut self) -> Result<(), String> {
        self.is_on = false;
        self.set_enabled(false)
    }

    fn set_enabled(&self, is_enabled: bool) -> Result<(), String> {
        let results = self.cpus.iter().map(|cpu| cpu.set_enabled(is_enabled));
        // All CPUs are switched, also after an error.
        let results: Vec<io::Result<()>> = results.collect();
        results.into_iter().collect::<io::Result<()>>().map_err(|error| error.to_string())
    }

    /// Reads the ring buffers of all CPUs, whose sizes limit the memory.
    pub(super) fn read(&mut self, clock: &TraceClock) -> Progress {
        let mut result = Ok(());
        for cpu in &mut self.cpus {
            if let Err(error) = cpu.read(clock, &mut self.waiting) {
                result = Err(format!("CPU {}: {error}", cpu.number()));
            }
        }
        if self.is_on {
            result = result.and(self.continue_on_new(clock));
        }
        Progress { has_more: false, result }
    }

    /// Continues on the CPUs that have come online since the last round, and notes what was not
    /// recorded there.
    fn continue_on_new(&mut self, clock: &TraceClock) -> Result<(), String> {
        let since = self.hotplug.last_look();
        let (new, mut result) = self.open_new();
        for number in new {
            let started = self.cpus.iter().find(|cpu| cpu.number() == number);
            let started = started.map_or(Ok(()), |cpu| cpu.set_enabled(true));
            let times = (clock.ticks(since), clock.ticks(monotonic_raw()));
            self.waiting.push(Timed::came_online(number, times));
            result = result.and(started.map_err(|error| format!("CPU {number}: {error}")));
        }
        result
    }

    /// Opens the events of the CPUs that have come online since the last look. The kernel has
    /// detached those that a CPU had before. Returns the CPUs, and the last error of others.
    fn open_new(&mut self) -> (Vec<u16>, Result<(), String>) {
        let (mut opened, mut result) = (Vec::new(), Ok(()));
        for number in self.hotplug.look() {
            // Its memory may be all that the user may lock.
            self.cpus.retain(|cpu| cpu.number() != number);
            match self.hotplug.open(number) {
                Ok(cpu) => {
                    self.cpus.push(cpu);
                    opened.push(number);
                }
                Err(error) => {
                    self.hotplug.retry(number);
                    // Otherwise, it has gone offline again.
                    if !hotplug::is_offline(&error) {
                        result = Err(format!("CPU {number}: {error}"));
                    }
                }
            }
        }
        (opened, result)
    }

    /// Calls `write` with the records before the ticks `end` in the order of time, after the
    /// losses that they report. Returns the first error; all records are written.
    ///
    /// The kernel takes the time of a record before it writes the record. Records of the time since
    /// the last round therefore wait for the next one.
    pub(super) fn write(
        &mut self,
        end: u64,
        output: &mut Output<'_, '_>,
        mut write: impl FnMut(&Timed, &mut Output<'_, '_>) -> Result<(), String>,
    ) -> Result<(), String> {
        let last = std::mem::replace(&mut self.last_end, end);
        let end = if end == u64::MAX { end } else { last };
        self.waiting.sort_by_key(|timed| timed.ticks);
        let number = self.waiting.partition_point(|timed| timed.ticks < end);
        let mut result = Ok(());
        for timed in self.waiting.drain(..number) {
            if let Some((missed, times)) = timed.loss() {
                result = result.and(output.missed(timed.cpu(), missed, times));
            }
            if let Body::LostSamples { number } = timed.record.body {
                let times = (timed.since, timed.ticks);
                result = result.and(output.lost_samples(timed.cpu(), number, times));
            }
            if let Body::CameOnline = timed.record.body {
                let times = (timed.since, timed.ticks);
                result = result.and(output.came_online(timed.cpu(), times));
            }
            for (cpu, times) in self.throttled.note(&timed) {
                result = result.and(output.throttled(cpu, times));
            }
            let written = write(&timed, output);
            result = result.and(written);
        }
        result
    }

    /// Writes the losses that no record reports.
    pub(super) fn finish(&mut self, now: u64, output: &mut Output<'_, '_>) -> Result<(), String> {
        let mut result = Ok(());
        for cpu in &mut self.cpus {
            let number = cpu.take_unreported_losses().map_err(|error| error.to_string())?;
            if number > 0 {
                let times = (cpu.last(), now);
                result = result.and(output.missed(cpu.number(), Missed::Count(number), times));
            }
        }
        for (cpu, times) in self.throttled.finish(now) {
            result = result.and(output.throttled(cpu, times));
        }
        result
    }

    /// Returns the number of dropped records that no record reports so far.
    pub(super) fn unreported_losses(&self) -> io::Result<u64> {
        self.cpus.iter().map(Cpu::unreported_losses).sum()
    }

    /// Takes the records that were read, in the order of their buffers.
    pub(super) fn take(&mut self) -> Vec<Timed> {
        std::mem::take(&mut self.waiting)
    }

    /// Discards the records that have not been written. Returns their number.
    pub(super) fn discard(&mut self) -> u64 {
        std::mem::take(&mut self.waiting).len() as u64
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use trace_format::{Reader, Record, Value};
    use trace_provider::Provider;

    use super::super::record::{PerfRecord, SampleId};
    use super::*;
    use crate::fxt::Translator;
    use crate::live::sink::{ContextSink, Tables};
    use crate::live::totals::{note_error, Totals};

    /// Writes records of CPU 2 to an archive. Returns the totals, and the reported reasons and
    /// numbers of losses.
    fn written(bodies: &[Body]) -> (Totals, Vec<(String, u64)>) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.fxt");
        let provider = Provider::builder("test").about_machine().output(&path).connect().unwrap();
        let mut writer = provider.writer();
        let sample = SampleId { process: 0, thread: 7, time: 0, cpu: 2 };
        let timed = |body: &Body| {
            let record = PerfRecord { sample, body: body.clone() };
            Timed { ticks: 9, since: 5, record }
        };
        let waiting = bodies.iter().map(timed).collect();
        let throttled = Throttled::new(&[Target::Cpu]);
        let hotplug = Hotplug::new(&[], SampleLayout::default(), 0);
        let cpus = Vec::new();
        let mut cpus = Cpus { cpus, waiting, throttled, hotplug, is_on: false, last_end: 0 };
        let (mut tables, mut translator) = (Tables::new(&[]), Translator::default());
        let totals = Mutex::default();
        let sink = ContextSink::new(writer.context().unwrap(), &mut tables);
        let mut output = Output { translator: &mut translator, sink, totals: &totals };
        note_error(&totals, cpus.write(u64::MAX, &mut output, |_, _| Ok(())));
        drop((writer, provider));
        (totals.into_inner().unwrap(), losses(&std::fs::read(path).unwrap()))
    }

    /// Returns the reasons and numbers of the losses that events of an archive report.
    fn losses(archive: &[u8]) -> Vec<(String, u64)> {
        let (mut reader, mut losses) = (Reader::new(archive), Vec::new());
        while let Some(item) = reader.next().unwrap() {
            let Record::Event(event) = &item.record else { continue };
            if item.text(event.name) != "records dropped" {
                continue;
            }
            let argument = |name: &str| {
                event.arguments.iter().find(|it| item.text(it.name) == name).unwrap().value
            };
            let Value::String(reason) = argument("reason") else { panic!("{event:?}") };
            let number = argument("number").unsigned().unwrap();
            losses.push((item.text(reason).into_owned(), number));
        }
        losses
    }

    /// A larger buffer has no effect on them, so they are not those that the kernel dropped.
    #[test]
    fn samples_that_the_cpu_lost_are_reported_and_counted() {
        let lost = [Body::LostSamples { number: 3 }, Body::Lost { number: 4 }];
        let (totals, losses) = written(&lost);
        assert_eq!((totals.lost_samples, totals.dropped, totals.error), (3, 4, None));
        let expected = [("samples lost by the CPU", 3), ("kernel buffer full", 4)];
        assert_eq!(losses, expected.map(|(reason, number)| (reason.to_owned(), number)));
    }

    #[test]
    fn the_time_before_a_cpu_has_its_events_again_is_a_loss() {
        let (totals, losses) = written(&[Body::CameOnline]);
        assert_eq!(totals.dropped, 0, "a larger buffer has no effect");
        assert!(totals.error.unwrap().contains("CPU 2 came online"));
        assert_eq!(losses, [("CPU came online: at least one".to_owned(), 1)]);
    }
}
