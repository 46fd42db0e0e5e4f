//! Counters of perf events, such as page faults and cycles.
//!
//! Twenty times a second, what each selected counter has counted since the start is a counter
//! record: of each CPU, or of the recorded threads together. The kernel adds the counts of the
//! threads and processes that a thread creates to those of the thread, also after their end.

pub(in crate::live) mod known;
mod place;

use std::io;

use trace_format::{Argument, Event as EventRecord, EventKind, Thread, Value, WriteError};
use trace_protocol::categories::CategorySet;

use self::known::{is_missing, KernelPart, Known, KNOWN};
use self::place::{Events, Place};
use super::hotplug::Online;
use super::sys::{Attributes, Count};
use crate::fxt::write_event;
use crate::live::backend::{Backend, Output, Progress};
use crate::live::categories::COUNTER_PREFIX;
use crate::live::clock::{monotonic_raw, TraceClock};
use crate::live::error::{LiveError, PerfScope};
use crate::live::scope::Scope;

/// The bit of the flags `exclude_kernel`.
const EXCLUDE_KERNEL: u64 = 1 << 5;

/// The selected counters.
#[derive(Debug)]
pub(crate) struct Counters {
    counters: Vec<Counter>,
    readings: Vec<Reading>,
    /// When recording started, in nanoseconds of `CLOCK_MONOTONIC_RAW`; `None` once it is read.
    started: Option<u64>,
    scope_is_named: bool,
    online: Online,
}

/// What counters lack.
#[derive(Debug, Default)]
pub struct CounterReport {
    /// Those that count user mode only.
    pub user_only: Vec<&'static str>,
    /// Those that a pattern with `*` selects, but this machine's CPUs do not have.
    pub absent: Vec<&'static str>,
    /// Why others that are selected are not recorded.
    pub refused: Vec<LiveError>,
}

/// A counter at one place.
#[derive(Debug)]
struct Counter {
    known: &'static Known,
    category: String,
    place: Place,
    flags: u64,
    events: Events,
    /// The count of the events that the CPU had before it went offline.
    before: u64,
    /// The values of the events at the start.
    bases: Vec<Count>,
    /// The last count since the start.
    last: u64,
}

/// A count at a time.
#[derive(Debug, PartialEq, Eq)]
struct Reading {
    ticks: u64,
    /// The place in the list of counters.
    counter: usize,
    count: u64,
    /// The percentage of the time in which the counter counted; 100 unless CPUs have too few.
    measured: u64,
}

/// Returns whether the patterns select counters.
pub(in crate::live) fn are_selected(patterns: &[String]) -> bool {
    let set = CategorySet::new(patterns);
    let is_named = patterns.iter().any(|pattern| pattern.starts_with(COUNTER_PREFIX));
    is_named || KNOWN.iter().any(|known| set.matches(&known.category()))
}

/// Returns the counters that this process may use for its own threads, and what others lack.
#[must_use]
pub fn probe() -> (Vec<&'static str>, CounterReport) {
    let all = [format!("{COUNTER_PREFIX}*")];
    let own = Scope::Threads(vec![u64::from(std::process::id())]);
    match Counters::open(&all, &own) {
        Ok((Counters { counters, .. }, report)) => {
            (counters.iter().map(|counter| counter.known.name).collect(), report)
        }
        Err(error) => (Vec::new(), CounterReport { refused: vec![error], ..Default::default() }),
    }
}

impl Counters {
    /// Opens the counters that `patterns` select, of the threads of a scope: of a list of threads
    /// together, else on each CPU.
    ///
    /// # Errors
    ///
    /// A pattern names no counter, or none of them can be used.
    pub(in crate::live) fn open(
        patterns: &[String],
        scope: &Scope,
    ) -> Result<(Self, CounterReport), LiveError> {
        check_names(patterns)?;
        let set = CategorySet::new(patterns);
        let places = Place::all(scope);
        let (mut counters, mut report) = (Vec::new(), CounterReport::default());
        for known in KNOWN.iter().filter(|known| set.matches(&known.category())) {
            match open_best(known, &places) {
                Ok((opened, is_user_only)) => {
                    counters.extend(opened);
                    report.user_only.extend(is_user_only.then_some(known.name));
                }
                Err(error) if known.is_hardware() && is_missing(&error) => {
                    match patterns.contains(&known.category()) {
                        true => report.refused.push(LiveError::NoHardware(known.name)),
                        false => report.absent.push(known.name),
                    }
                }
                Err(error) => report.refused.push(refused(known, scope.of_perf(), error)),
            }
        }
        if counters.is_empty() {
            let absent = report.absent.first().map(|name| LiveError::NoHardware(name));
            let first = report.refused.into_iter().next().or(absent);
            return Err(first.unwrap_or_else(|| LiveError::NoCounter(String::new())));
        }
        let (readings, started, scope_is_named) = (Vec::new(), None, false);
        let online = Online::new();
        Ok((Self { counters, readings, started, scope_is_named, online }, report))
    }

    /// Continues on the CPUs that have come online since the last look, whose events the kernel has
    /// detached. What happened before is not counted, which is an error.
    fn continue_on_new(&mut self) -> Result<(), String> {
        let new = self.online.look();
        let mut result = Ok(());
        for counter in &mut self.counters {
            let Place::Cpu(cpu, _) = counter.place else { continue };
            if new.contains(&cpu) {
                let reopened = counter.reopen();
                result = result.and(match reopened {
                    Ok(()) => {
                        Err(format!("CPU {cpu} came online, and its first counts are missing"))
                    }
                    Err(error) => Err(format!("CPU {cpu}: {}: {error}", counter.known.name)),
                });
            }
        }
        result
    }

    fn write_reading(
        &mut self,
        reading: &Reading,
        output: &mut Output<'_, '_>,
    ) -> Result<(), WriteError> {
        let Some(Counter { known, category, place, .. }) = self.counters.get(reading.counter)
        else {
            return Ok(());
        };
        let Output { translator, sink, .. } = output;
        let koids = match place {
            Place::Cpu(cpu, _) => translator.cpu(sink, *cpu)?,
            Place::Threads(_) => place::threads_koids(sink, &mut self.scope_is_named)?,
        };
        let arguments = [
            Argument::new(known.unit(), Value::Uint64(reading.count)),
            Argument::new("measured_percent", Value::Uint64(reading.measured)),
        ];
        // A part is worth a word only if there is another one.
        let number = if reading.measured < 100 { 2 } else { 1 };
        let event = EventRecord {
            ticks: reading.ticks,
            thread: Thread::Inline(koids),
            category: category.as_str().into(),
            name: known.name.into(),
            kind: EventKind::Counter { id: place.id() },
            arguments: arguments.get(..number).unwrap_or_default().into(),
        };
        write_event(sink, event)
    }
}

impl Backend for Counters {
    fn start(&mut self) -> Result<(), String> {
        self.scope_is_named = false;
        // Those of CPUs that came online during a pause count from now on.
        let _paused = self.continue_on_new();
        self.started = Some(monotonic_raw());
        let results: Vec<_> = self.counters.iter_mut().map(Counter::start).collect();
        // All counters are started, also after an error.
        results.into_iter().collect::<io::Result<()>>().map_err(|error| error.to_string())
    }

    /// The counters continue: to enable them again would enable those of the recorder, too.
    fn stop(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn read(&mut self, clock: &TraceClock, _now: u64) -> Progress {
        let mut result = self.continue_on_new();
        let Self { counters, readings, started, .. } = self;
        if let Some(raw) = started.take() {
            let ticks = clock.ticks(raw);
            let first = |counter| Reading { ticks, counter, count: 0, measured: 100 };
            readings.extend((0..counters.len()).map(first));
        }
        for (place, counter) in counters.iter_mut().enumerate() {
            let ticks = clock.ticks(monotonic_raw());
            match counter.read() {
                // It has not counted yet: the CPUs count others.
                Ok((_, 0)) => {}
                Ok((count, measured)) => {
                    counter.last = counter.last.max(count);
                    let count = counter.last;
                    readings.push(Reading { ticks, counter: place, count, measured });
                }
                Err(error) => result = Err(format!("{}: {error}", counter.known.name)),
            }
        }
        Progress { has_more: false, result }
    }

    fn write(&mut self, end: u64, output: &mut Output<'_, '_>) -> Result<(), String> {
        self.readings.sort_by_key(|reading| reading.ticks);
        let number = self.readings.partition_point(|reading| reading.ticks < end);
        let readings: Vec<Reading> = self.readings.drain(..number).collect();
        // All readings are written, also after an error.
        let results: Vec<_> =
            readings.iter().map(|reading| self.write_reading(reading, output)).collect();
        results.into_iter().collect::<Result<(), _>>().map_err(|error| error.to_string())
    }

    fn finish(&mut self, _now: u64, _output: &mut Output<'_, '_>) -> Result<(), String> {
        let has_counted = |it: &Counter| it.read().is_ok_and(|(_, measured)| measured > 0);
        let others = self.counters.iter().filter(|it| !has_counted(it));
        let mut names: Vec<&str> = others.map(|it| it.known.name).collect();
        names.dedup();
        match names[..] {
            [] => Ok(()),
            _ => Err(format!("the CPUs had no counter for {}", names.join(", "))),
        }
    }

    fn discard(&mut self) -> u64 {
        std::mem::take(&mut self.readings).len() as u64
    }
}

impl Counter {
    fn open(known: &'static Known, place: &Place, flags: u64) -> io::Result<Self> {
        let attributes =
            Attributes { kind: known.kind, config: known.config, flags, ..Attributes::default() };
        let events = place.open(&attributes)?;
        let (category, place) = (known.category(), place.clone());
        let (bases, before, last) = (Vec::new(), 0, 0);
        Ok(Self { known, category, place, flags, events, before, bases, last })
    }

    /// Opens and starts the events again. The count goes on from the last one.
    fn reopen(&mut self) -> io::Result<()> {
        let reopened = Self::open(self.known, &self.place, self.flags)?;
        let before = self.last;
        *self = reopened;
        self.start()?;
        (self.before, self.last) = (before, before);
        Ok(())
    }

    fn start(&mut self) -> io::Result<()> {
        self.bases = self.events.counts()?;
        (self.before, self.last) = (0, 0);
        self.events.at_start.iter().try_for_each(|event| event.set_enabled(true))
    }

    /// Returns the count of all events since the start, and the percentage of the time in which
    /// they counted.
    fn read(&self) -> io::Result<(u64, u64)> {
        let counts = self.events.counts()?.into_iter().zip(&self.bases);
        let since = counts.map(|(count, base)| count.since(base));
        let (count, measured) = sum(since);
        Ok((self.before.saturating_add(count), measured))
    }
}

/// Fails if a pattern names a counter that does not exist.
fn check_names(patterns: &[String]) -> Result<(), LiveError> {
    let mut names = patterns.iter().filter_map(|pattern| pattern.strip_prefix(COUNTER_PREFIX));
    names.try_for_each(check_name)
}

/// Checks that a name is that of a counter, or a pattern such as `*-faults` of some.
///
/// # Errors
///
/// There is none. That this machine lacks the counter is no error.
pub fn check_name(name: &str) -> Result<(), LiveError> {
    let set = CategorySet::new(&[name]);
    // No pattern, or an exclusion alone, would match all others.
    let is_included = !name.is_empty() && !name.starts_with('-');
    match is_included && KNOWN.iter().any(|known| set.matches(known.name)) {
        true => Ok(()),
        false => Err(LiveError::NoCounter(name.to_owned())),
    }
}

/// Opens a counter at all places, with the kernel if that is permitted. Returns whether it counts
/// user mode only.
fn open_best(known: &'static Known, places: &[Place]) -> io::Result<(Vec<Counter>, bool)> {
    let open = |flags| {
        let opened = places.iter().map(|place| Counter::open(known, place, flags));
        // A CPU that has gone offline meanwhile has no threads.
        let is_offline = |it: &io::Result<Counter>| {
            it.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::ENODEV))
        };
        opened.filter(|it| !is_offline(it)).collect::<io::Result<Vec<Counter>>>()
    };
    match open(0) {
        Err(error)
            if error.kind() == io::ErrorKind::PermissionDenied
                && known.kernel != KernelPart::Only =>
        {
            Ok((open(EXCLUDE_KERNEL)?, known.kernel == KernelPart::Separate))
        }
        opened => Ok((opened?, false)),
    }
}

fn refused(known: &Known, scope: PerfScope, error: io::Error) -> LiveError {
    let is_of_kernel = known.kernel == KernelPart::Only;
    LiveError::Counter { name: known.name, is_of_kernel, scope, error }
}

/// Returns the sum of counts, each estimated for its whole time, and the percentage of the time in
/// which they counted.
fn sum(counts: impl Iterator<Item = Count>) -> (u64, u64) {
    let (mut total, mut times) = (0_u64, Count::default());
    for count in counts {
        total = total.saturating_add(scaled(count));
        times.enabled = times.enabled.saturating_add(count.enabled);
        times.running = times.running.saturating_add(count.running);
    }
    (total, measured(times))
}

/// Returns the count of the whole time, as far as it was measured.
fn scaled(count: Count) -> u64 {
    let Count { value, enabled, running } = count;
    if running == 0 || running >= enabled {
        return value;
    }
    let scaled = u128::from(value) * u128::from(enabled) / u128::from(running);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Returns the percentage of the time in which an event counted: at least 1 if it did.
fn measured(count: Count) -> u64 {
    let Count { enabled, running, .. } = count;
    let percent = |enabled| u64::try_from(u128::from(running) * 100 / u128::from(enabled));
    match (enabled, running) {
        (0, _) => 100,
        (_, 0) => 0,
        (enabled, _) => percent(enabled).unwrap_or(100).clamp(1, 100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(patterns: &[&str]) -> Vec<String> {
        patterns.iter().map(|pattern| (*pattern).to_owned()).collect()
    }

    #[test]
    fn patterns_select_counters() {
        for selecting in ["cpu:counter:page-faults", "cpu:counter:*", "cpu:*", "cpu:counter:x"] {
            assert!(are_selected(&patterns(&[selecting])), "{selecting}");
        }
        for other in ["cpu:perf", "kernel:sched", "kernel:*"] {
            assert!(!are_selected(&patterns(&[other])), "{other}");
        }
    }

    #[test]
    fn unknown_counters_are_errors() {
        for (pattern, name) in
            [("cpu:counter:faults", "faults"), ("cpu:counter:x*", "x*"), ("cpu:counter:", "")]
        {
            match Counters::open(&patterns(&[pattern]), &Scope::Machine) {
                Err(LiveError::NoCounter(found)) => assert_eq!(found, name),
                other => panic!("{pattern}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_part_of_the_time_is_scaled() {
        let count = |value, enabled, running| Count { value, enabled, running };
        for (counts, expected) in [
            (&[count(10, 100, 100)][..], (10, 100)),
            (&[count(10, 100, 50)], (20, 50)),
            (&[count(0, 0, 0)], (0, 100)),
            (&[], (0, 100)),
            // It never counted.
            (&[count(0, 100, 0)], (0, 0)),
            (&[count(7, 1000, 1)], (7000, 1)),
            (&[count(u64::MAX, 100, 1)], (u64::MAX, 1)),
            // Each thread has its own part.
            (&[count(1000, 100, 100), count(10, 900, 90)], (1100, 19)),
        ] {
            assert_eq!(sum(counts.iter().copied()), expected, "{counts:?}");
        }
    }

    /// The times before a pause do not count either.
    #[test]
    fn counts_begin_anew_at_a_start() {
        let count = |value, enabled, running| Count { value, enabled, running };
        let since = count(200, 200, 110).since(&count(100, 100, 10));
        assert_eq!(since, count(100, 100, 100));
        assert_eq!(count(1, 1, 1).since(&Count::default()), count(1, 1, 1));
    }

    /// Each touched page is one fault of this thread and those that it creates.
    #[test]
    fn faults_of_threads_are_counted_or_the_reason_is_known() {
        const PAGES: usize = 1000;
        let own = u64::from(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs());
        let opened =
            Counters::open(&patterns(&["cpu:counter:page-faults"]), &Scope::Threads(vec![own]));
        let mut counters = match opened {
            Ok((counters, _)) => counters,
            Err(error) => return assert!(error.remedy().is_some(), "{error}"),
        };
        // The threads of this process are not those of the recorder, its parent.
        assert!(counters.counters.iter().all(|counter| counter.events.at_exec.is_empty()));
        counters.start().unwrap();
        std::thread::spawn(|| {
            let mut bytes = vec![0_u8; PAGES * rustix::param::page_size()];
            bytes.iter_mut().step_by(rustix::param::page_size()).for_each(|byte| *byte = 1);
            std::hint::black_box(&bytes);
        })
        .join()
        .unwrap();
        counters.stop().unwrap();
        let clock = TraceClock::monotonic_raw();
        counters.read(&clock, 0).result.unwrap();
        let [first, last] = &counters.readings[..] else { panic!("{:?}", counters.readings) };
        assert_eq!((first.count, first.measured, last.measured), (0, 100, 100));
        // Large pages have fewer faults.
        assert!(last.count > 0, "{last:?}");
    }
}
