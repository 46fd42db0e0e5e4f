//! The text of ftrace in a document of the Trace Event Format.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;

use trace_format::{Argument, WriteError, Writer};

use super::clock::Clock;
use super::line::Line;
use super::scheduler::entry;
use crate::event::{Event, Task};
use crate::fxt::{write_scheduling, Wakeups};

/// The maximum number of threads with a name, or with a process.
const MAX_THREADS: usize = 1 << 16;

/// A text of ftrace with the data that its records need: the offset of its clock, and the names and
/// processes of threads.
#[derive(Debug)]
pub struct DocumentText<'a> {
    text: &'a str,
    clock: Clock,
    processes: HashMap<u64, u64>,
    /// The last name of each thread.
    names: BTreeMap<u64, &'a str>,
}

impl<'a> DocumentText<'a> {
    /// Reads a text. `time_of` returns the time of the document's event `clock_sync` with an id, in
    /// nanoseconds.
    #[must_use]
    pub fn new(text: &'a str, time_of: impl Fn(&str) -> Option<u64>) -> Self {
        let (clock, processes, names) = (Clock::default(), HashMap::new(), BTreeMap::new());
        let mut document = Self { text, clock, processes, names };
        for line in lines(text) {
            document.clock.note(&line, &time_of);
            document.note(&line);
        }
        document
    }

    fn note(&mut self, line: &Line<'a>) {
        if let Some(process) = line.process.filter(|_| self.processes.len() < MAX_THREADS) {
            self.processes.insert(line.thread, process);
        }
        match entry(line, 0).map(|entry| entry.event) {
            Some(Event::Switch { outgoing, incoming, .. }) => {
                self.name(outgoing);
                self.name(incoming);
            }
            Some(Event::Waking { task, .. } | Event::Wakeup { task, .. }) => self.name(task),
            _ => {}
        }
    }

    fn name(&mut self, task: Task<'a>) {
        if self.names.len() < MAX_THREADS || self.names.contains_key(&task.thread) {
            self.names.insert(task.thread, task.name);
        }
    }

    /// Returns each thread with its name, and its process if the text has it. The idle thread has
    /// no name.
    pub fn threads(&self) -> impl Iterator<Item = (u64, &'a str, Option<u64>)> + '_ {
        let named = self.names.iter().filter(|(thread, _)| **thread != 0);
        named.map(|(thread, name)| (*thread, *name, self.processes.get(thread).copied()))
    }

    /// Writes the scheduling records, with `mark` as an argument, and with `shift` nanoseconds
    /// added to times. Returns their number.
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub fn write_scheduling<W: Write>(
        &self,
        writer: &mut Writer<W>,
        shift: u64,
        mark: Argument<'_>,
    ) -> Result<u64, WriteError> {
        let mut count = 0;
        let mut wakeups = Wakeups::default();
        for line in lines(self.text) {
            let ticks = self.clock.time(line.nanos, shift);
            let Some(entry) = ticks.and_then(|ticks| entry(&line, ticks)) else { continue };
            if !wakeups.is_repeated(&entry.event) {
                write_scheduling(writer, &entry, Some(mark))?;
                count += 1;
            }
        }
        Ok(count)
    }
}

fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.lines().filter_map(Line::parse)
}
