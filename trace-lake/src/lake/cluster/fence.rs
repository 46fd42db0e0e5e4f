//! Ends an executor that the scheduler may take for dead: it would go on with tasks that others run
//! again.

use std::io;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use ballista_executor::health::ExecutorHealth;

use crate::exit::FAILURE;
use crate::message::say;

/// The longest silence of an executor. The scheduler waits longer.
pub(super) const SILENCE: Duration = Duration::from_secs(10);

/// How often it is checked.
const TICK: Duration = Duration::from_millis(250);

/// Ends the process when it was stopped, or had no answer of the scheduler, for [`SILENCE`].
/// `remove` is a folder that is removed before.
pub(super) fn start(health: ExecutorHealth, remove: Option<PathBuf>) -> io::Result<()> {
    let watch = move || {
        let mut watch = Watch::new();
        while watch.is_heard(health.is_ready()) {
            thread::sleep(TICK);
        }
        say(
            "the scheduler did not answer, or the process was stopped, for 10 s: the executor ends",
        );
        remove.map(std::fs::remove_dir_all);
        std::process::exit(FAILURE.into());
    };
    thread::Builder::new().name("trace-fence".to_owned()).spawn(watch).map(drop)
}

#[derive(Debug)]
struct Watch {
    /// The last tick, or the last answer after the first one.
    heard: Option<Instant>,
    ticked: Instant,
    /// Time also passes while the machine is suspended.
    wall: SystemTime,
}

impl Watch {
    fn new() -> Self {
        Self { heard: None, ticked: Instant::now(), wall: SystemTime::now() }
    }

    /// Notes whether the scheduler has answered last time. Returns false after too long a silence.
    /// An executor that has not registered yet may wait.
    fn is_heard(&mut self, has_answer: bool) -> bool {
        let stopped = self.ticked.elapsed().max(self.wall.elapsed().unwrap_or_default());
        (self.ticked, self.wall) = (Instant::now(), SystemTime::now());
        if has_answer {
            self.heard = Some(self.ticked);
        }
        let silent = self.heard.map_or(Duration::ZERO, |heard| heard.elapsed());
        self.heard.is_none() || stopped.max(silent) < SILENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_executor_ends() {
        let long_ago = Instant::now().checked_sub(SILENCE).unwrap();
        let mut watch = Watch::new();
        assert!(watch.is_heard(false));
        watch.ticked = long_ago;
        assert!(watch.is_heard(false), "it has not registered");
        assert!(watch.is_heard(true) && watch.is_heard(false));
        watch.heard = Some(long_ago);
        assert!(!watch.is_heard(false), "no answer");
        assert!(watch.is_heard(true));
        watch.wall = SystemTime::now() - SILENCE;
        assert!(!watch.is_heard(true), "it was suspended");
    }
}
