//! A program that records numbered events, and keeps the numbers of those that were recorded.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use trace_format::record::Value;
use trace_provider::Provider;

use super::wait_until;

pub(crate) const CATEGORIES: [&str; 3] = ["a", "b", "c"];

/// Recorded numbers by category.
pub(crate) type Recorded = BTreeMap<&'static str, Vec<u64>>;

/// A provider, and the thread that records.
pub(crate) struct Program {
    provider: Provider,
    thread: JoinHandle<Recorded>,
    ends: Arc<AtomicBool>,
    next: Arc<AtomicU64>,
    /// The number of recorded events.
    written: Arc<AtomicU64>,
}

impl Program {
    /// Starts a program that records the next number in each category, again and again.
    pub(crate) fn start(socket: &Path, name: &str) -> Self {
        let provider = Provider::builder(name).socket(socket).connect().unwrap();
        let (ends, next) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let mut writer = provider.writer();
        let written = Arc::new(AtomicU64::new(0));
        let (its_end, its_next) = (Arc::clone(&ends), Arc::clone(&next));
        let its_written = Arc::clone(&written);
        let thread = std::thread::spawn(move || {
            let mut recorded = Recorded::new();
            while !its_end.load(Ordering::Acquire) {
                let number = its_next.fetch_add(1, Ordering::AcqRel);
                if let Some(mut context) = writer.context() {
                    for category in CATEGORIES {
                        let argument = [("number", Value::Uint64(number))];
                        if context.instant(category, "event", &argument) {
                            recorded.entry(category).or_default().push(number);
                            its_written.fetch_add(1, Ordering::AcqRel);
                        }
                    }
                }
                std::thread::sleep(Duration::from_micros(20));
            }
            recorded
        });
        Self { provider, thread, ends, next, written }
    }

    /// Waits until the program has recorded further numbers. Returns the next number.
    pub(crate) fn run(&self, numbers: u64) -> u64 {
        let until = self.next.load(Ordering::Acquire) + numbers;
        wait_until("the program records", || self.next.load(Ordering::Acquire) >= until);
        self.next.load(Ordering::Acquire)
    }

    /// Waits until the program has recorded a further event.
    pub(crate) fn wait_recorded(&self) {
        let before = self.written.load(Ordering::Acquire);
        wait_until("an event is recorded", || self.written.load(Ordering::Acquire) > before);
    }

    /// Ends the program. Returns the recorded numbers.
    pub(crate) fn end(self) -> Recorded {
        self.ends.store(true, Ordering::Release);
        let recorded = self.thread.join().unwrap();
        drop(self.provider);
        recorded
    }
}
