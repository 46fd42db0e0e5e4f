//! How viewers show processes and threads, as documents of the Trace Event Format say.
//!
//! FXT has no place for it: the archive of a document carries these events whole.

use std::collections::BTreeMap;

use serde_json::Value;
use trace_format::ThreadKoids;

/// The most processes and threads with hints.
const MAX_HINTS: usize = 1 << 16;

/// Labels and places of processes and threads.
#[derive(Debug, Default)]
pub(super) struct Hints {
    labels: BTreeMap<u64, Vec<String>>,
    processes: BTreeMap<u64, i32>,
    threads: BTreeMap<ThreadKoids, i32>,
}

impl Hints {
    /// Takes an event that is carried whole; `false` if it is no hint.
    pub(super) fn take(&mut self, event: &[u8]) -> bool {
        let Ok(event) = serde_json::from_slice::<Value>(event) else { return false };
        self.of_event(&event).is_some()
    }

    fn of_event(&mut self, event: &Value) -> Option<()> {
        let is_metadata = event["ph"] == "M" && self.count() < MAX_HINTS;
        let process = event["pid"].as_u64().filter(|_| is_metadata)?;
        let arguments = &event["args"];
        let place = || arguments["sort_index"].as_i64()?.try_into().ok();
        match event["name"].as_str()? {
            "process_labels" => {
                let labels = arguments["labels"].as_str()?.split(',');
                self.labels.insert(process, labels.map(str::to_owned).collect());
            }
            "process_sort_index" => drop(self.processes.insert(process, place()?)),
            "thread_sort_index" => {
                let koids = ThreadKoids::new(process, event["tid"].as_u64()?);
                self.threads.insert(koids, place()?);
            }
            _ => return None,
        }
        Some(())
    }

    fn count(&self) -> usize {
        self.labels.len() + self.processes.len() + self.threads.len()
    }

    /// Returns the labels of a process.
    pub(super) fn labels(&self, process: u64) -> Vec<String> {
        self.labels.get(&process).cloned().unwrap_or_default()
    }

    /// Returns the place of a process among others.
    pub(super) fn of_process(&self, process: u64) -> Option<i32> {
        self.processes.get(&process).copied()
    }

    /// Returns the place of a thread among those of its process.
    pub(super) fn of_thread(&self, koids: ThreadKoids) -> Option<i32> {
        self.threads.get(&koids).copied()
    }
}
