//! Labels and sort indices of processes and threads in documents of the Trace Event Format.
//!
//! FXT cannot express them. The archive of a document carries these events as JSON.

use std::collections::BTreeMap;

use serde_json::Value;
use trace_format::ThreadKoids;

/// The maximum number of processes and threads with hints.
const MAX_HINTS: usize = 1 << 16;

/// Labels and sort indices of processes and threads.
#[derive(Debug, Default)]
pub(super) struct Hints {
    labels: BTreeMap<u64, Vec<String>>,
    processes: BTreeMap<u64, i32>,
    threads: BTreeMap<ThreadKoids, i32>,
}

impl Hints {
    /// Adds an event that is carried as JSON; returns `false` if it is not a hint.
    pub(super) fn add(&mut self, event: &[u8]) -> bool {
        let Ok(event) = serde_json::from_slice::<Value>(event) else { return false };
        self.of_event(&event).is_some()
    }

    fn of_event(&mut self, event: &Value) -> Option<()> {
        let is_metadata = event["ph"] == "M" && self.count() < MAX_HINTS;
        let process = event["pid"].as_u64().filter(|_| is_metadata)?;
        let arguments = &event["args"];
        let sort_index = || arguments["sort_index"].as_i64()?.try_into().ok();
        match event["name"].as_str()? {
            "process_labels" => {
                let labels = arguments["labels"].as_str()?.split(',');
                self.labels.insert(process, labels.map(str::to_owned).collect());
            }
            "process_sort_index" => drop(self.processes.insert(process, sort_index()?)),
            "thread_sort_index" => {
                let koids = ThreadKoids::new(process, event["tid"].as_u64()?);
                self.threads.insert(koids, sort_index()?);
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

    /// Returns the sort index of a process.
    pub(super) fn of_process(&self, process: u64) -> Option<i32> {
        self.processes.get(&process).copied()
    }

    /// Returns the sort index of a thread within its process.
    pub(super) fn of_thread(&self, koids: ThreadKoids) -> Option<i32> {
        self.threads.get(&koids).copied()
    }
}
