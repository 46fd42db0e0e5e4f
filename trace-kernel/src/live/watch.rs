//! Whether an instance is still as it was set up. Others who may use tracefs can turn it off, or
//! disable its events, and its buffers would be empty without a reason.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::error::LiveError;
use super::instance::Instance;
use super::members::EVENT_PID;
use super::stat::Stat;

/// The time between two looks.
const INTERVAL: Duration = Duration::from_secs(1);

/// The most threads that a look compares with the kernel's list.
const MAX_THREADS: usize = 16;

/// The most threads of which a look reads in `/proc` whether they are alive.
const MAX_READS: usize = 64;

/// A change of an instance by another program. Kernels before 5.10 also remove a process from the
/// list if another thread than its first one executes a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Tracing was turned off.
    Off,
    /// An event was disabled, as `SYSTEM:NAME`.
    Event(String),
    /// The clock was changed to this one.
    Clock(String),
    /// A thread is missing in the kernel's list.
    Thread(u64),
}

/// The settings of an instance while it records.
#[derive(Debug)]
pub(super) struct Watch {
    clock: &'static str,
    /// The enabled events, as `SYSTEM:NAME`.
    events: Vec<String>,
    /// Whether the tracer itself has turned tracing on.
    is_on: bool,
    last: Instant,
    /// The threads that the kernel's list lacked at the last look.
    missing: HashSet<u64>,
}

impl Watch {
    /// Returns the settings of an instance with this clock and these events, as `SYSTEM/NAME`.
    pub(super) fn new(clock: &'static str, events: &[String]) -> Self {
        let events = events.iter().map(|event| event.replacen('/', ":", 1)).collect();
        Self { clock, events, is_on: false, last: Instant::now(), missing: HashSet::new() }
    }

    /// A recording has started.
    pub(super) fn start(&mut self) {
        self.is_on = true;
        self.last = Instant::now();
        self.missing.clear();
    }

    /// A recording is about to stop.
    pub(super) fn stop(&mut self) {
        self.is_on = false;
    }

    /// Returns whether a recording has started and is not about to stop.
    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Returns whether it is time for a look, about once a second.
    pub(super) fn is_due(&mut self) -> bool {
        let is_due = self.is_on && self.last.elapsed() >= INTERVAL;
        if is_due {
            self.last = Instant::now();
        }
        is_due
    }

    /// Returns a change of the instance while it records.
    pub(super) fn look(&self, instance: &Instance) -> Result<Option<Change>, LiveError> {
        if instance.read("tracing_on")?.trim() == "0" {
            return Ok(Some(Change::Off));
        }
        let clocks = instance.read("trace_clock")?;
        let chosen = clocks.split_whitespace().find_map(|clock| clock.strip_prefix('['));
        let chosen = chosen.map(|clock| clock.trim_end_matches(']')).unwrap_or_default();
        if chosen != self.clock {
            return Ok(Some(Change::Clock(chosen.to_owned())));
        }
        let enabled = instance.read("set_event")?;
        let enabled: HashSet<&str> = enabled.lines().filter_map(event).collect();
        let disabled = self.events.iter().find(|event| !enabled.contains(event.as_str()));
        Ok(disabled.cloned().map(Change::Event))
    }

    /// Returns a thread of the scope that the kernel's list lacks. It may lack one for a moment, so
    /// two looks decide, or the last one.
    pub(super) fn look_at_threads(
        &mut self,
        instance: &Instance,
        scope: impl Iterator<Item = u64>,
        is_last: bool,
    ) -> Result<Option<Change>, LiveError> {
        let is_alive = |thread: &u64| Stat::read(*thread).is_ok_and(|stat| !stat.is_ending);
        let alive: Vec<u64> = scope.take(MAX_READS).filter(is_alive).take(MAX_THREADS).collect();
        let list = instance.read(EVENT_PID)?;
        let list: HashSet<u64> = list.split_whitespace().filter_map(|it| it.parse().ok()).collect();
        let lacking = alive.into_iter().filter(|thread| !list.contains(thread) && is_alive(thread));
        let lacking: HashSet<u64> = lacking.collect();
        let before = std::mem::replace(&mut self.missing, lacking);
        let mut decided = self.missing.iter().filter(|thread| is_last || before.contains(thread));
        Ok(decided.next().copied().map(Change::Thread))
    }
}

/// Returns the event of a line of `set_event`, which may have a filter behind it.
fn event(line: &str) -> Option<&str> {
    line.split_whitespace().next()
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Off => write!(f, "another program turned tracing off"),
            Self::Event(event) => write!(f, "another program disabled the event {event}"),
            Self::Clock(clock) => write!(f, "another program changed the clock to {clock}"),
            Self::Thread(thread) => {
                write!(f, "the instance's list of recorded threads lacks thread {thread}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a directory in place of an instance, with its settings.
    fn instance() -> (tempfile::TempDir, Instance, Watch) {
        let directory = tempfile::tempdir().unwrap();
        let instance = Instance::of_directory(directory.path());
        for (file, text) in [
            ("tracing_on", "1\n"),
            ("trace_clock", "local global [x86-tsc] boot\n"),
            ("set_event", "sched:sched_switch\nsched:sched_waking\tpid > 1\n"),
            (EVENT_PID, ""),
        ] {
            instance.write(file, text).unwrap();
        }
        let events = ["sched/sched_switch", "sched/sched_waking"].map(str::to_owned);
        (directory, instance, Watch::new("x86-tsc", &events))
    }

    #[test]
    fn changes_by_others_are_noticed() {
        let (_directory, instance, watch) = instance();
        assert_eq!(watch.look(&instance).unwrap(), None);
        for (file, text, change) in [
            ("set_event", "sched:sched_switch\n", Change::Event("sched:sched_waking".to_owned())),
            ("trace_clock", "[local] global x86-tsc\n", Change::Clock("local".to_owned())),
            ("tracing_on", "0\n", Change::Off),
        ] {
            instance.write(file, text).unwrap();
            assert_eq!(watch.look(&instance).unwrap(), Some(change));
        }
    }

    #[test]
    fn threads_that_the_list_lacks_are_noticed() {
        let (_directory, instance, mut watch) = instance();
        let own = u64::from(std::process::id());
        let mut look = |threads: &[u64], is_last| {
            watch.look_at_threads(&instance, threads.iter().copied(), is_last).unwrap()
        };
        let ended = u64::from(u32::MAX);
        assert_eq!(look(&[own, ended], false), None, "the next look decides");
        assert_eq!(look(&[own, ended], false), Some(Change::Thread(own)));
        assert_eq!(look(&[ended], true), None);
        assert_eq!(look(&[own], true), Some(Change::Thread(own)));
        instance.write(EVENT_PID, &format!("1\n{own}\n")).unwrap();
        assert_eq!(look(&[own], true), None);
    }

    #[test]
    fn looks_are_rare() {
        let (_directory, _instance, mut watch) = instance();
        let long_ago = Instant::now().checked_sub(INTERVAL).unwrap();
        watch.last = long_ago;
        assert!(!watch.is_due(), "before the start");
        watch.start();
        assert!(!watch.is_due());
        watch.last = long_ago;
        assert!(watch.is_due() && !watch.is_due());
        watch.last = long_ago;
        watch.stop();
        assert!(!watch.is_due(), "the tracer itself turns tracing off");
    }
}
