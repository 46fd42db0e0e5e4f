//! Which code a process executes, and which thread a CPU, at each time.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use trace_kernel::perf_data::AuxEvent;

use super::ImportError;
use crate::recording::{Mapping, SpaceId};

/// The most mappings of all spaces: each process has those of the one that has created it.
const MAX_MAPPINGS: usize = 1 << 22;

/// A process and a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Task {
    pub(super) process: u32,
    pub(super) thread: u32,
}

/// Values from a time on, in its order.
#[derive(Debug)]
struct Changes<T>(Vec<(u64, T)>);

impl<T> Default for Changes<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> Changes<T> {
    /// Adds a value from a time on, which is not before the last one.
    fn push(&mut self, time: u64, value: T) {
        let time = self.0.last().map_or(time, |(last, _)| time.max(*last));
        self.0.push((time, value));
    }

    fn last(&self) -> Option<T> {
        self.0.last().map(|(_, value)| *value)
    }

    fn at(&self, time: u64) -> Option<T> {
        let count = self.0.partition_point(|(begin, _)| *begin <= time);
        let index = count.checked_sub(1)?;
        self.0.get(index).map(|(_, value)| *value)
    }
}

/// The events of a file, by time stamps.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    /// The mappings of each space. Those of a space do not overlap.
    spaces: Vec<Vec<Rc<Mapping>>>,
    /// The number of mappings of all spaces.
    count: usize,
    of_process: HashMap<u32, Changes<SpaceId>>,
    of_cpu: HashMap<u32, Changes<Option<Task>>>,
    processes: HashMap<u32, u32>,
    names: BTreeMap<u32, String>,
}

impl Timeline {
    /// Reads events in the order of time, with their time stamps.
    ///
    /// # Errors
    ///
    /// There are more mappings than are kept.
    pub(crate) fn new(
        events: impl IntoIterator<Item = (u64, AuxEvent)>,
    ) -> Result<Self, ImportError> {
        let mut timeline = Self::default();
        for (time, event) in events {
            timeline.add(time, event);
            if timeline.count > MAX_MAPPINGS {
                return Err(ImportError::TooManyMappings { limit: MAX_MAPPINGS });
            }
        }
        Ok(timeline)
    }

    fn add(&mut self, time: u64, event: AuxEvent) {
        match event {
            AuxEvent::Named { process, thread, name, is_exec } => {
                self.names.insert(thread, name);
                self.processes.insert(thread, process);
                if is_exec {
                    self.begin(process, time, Vec::new());
                }
            }
            AuxEvent::Forked { process, thread, creator } => {
                self.processes.insert(thread, process);
                if process != creator {
                    let mappings = self.mappings_of(creator).to_vec();
                    self.begin(process, time, mappings);
                }
            }
            AuxEvent::Mapped { process, address, size, offset, path, build_id } => {
                let build_id = Some(build_id).filter(|id| !id.is_empty());
                self.map(process, time, Mapping { address, size, offset, path, build_id });
            }
            AuxEvent::Entered { cpu, process, thread } => {
                self.processes.insert(thread, process);
                let task = (thread != 0).then_some(Task { process, thread });
                self.of_cpu.entry(cpu).or_default().push(time, task);
            }
            AuxEvent::Left { cpu } => self.of_cpu.entry(cpu).or_default().push(time, None),
            _ => {}
        }
    }

    fn begin(&mut self, process: u32, time: u64, mappings: Vec<Rc<Mapping>>) {
        let space = SpaceId(self.spaces.len() as u32);
        self.count += mappings.len();
        self.spaces.push(mappings);
        self.of_process.entry(process).or_default().push(time, space);
    }

    /// Adds a mapping. One that replaces another begins a space, so that each has one code.
    fn map(&mut self, process: u32, time: u64, new: Mapping) {
        let known = self.mappings_of(process);
        if known.iter().any(|mapping| mapping.is_same_place(&new)) {
            return;
        }
        let overlaps = |it: &Rc<Mapping>| {
            it.address < new.address.saturating_add(new.size)
                && new.address < it.address.saturating_add(it.size)
        };
        let space = self.of_process.get(&process).and_then(Changes::last);
        if space.is_none() || known.iter().any(overlaps) {
            let mut mappings: Vec<_> = known.iter().filter(|it| !overlaps(it)).cloned().collect();
            mappings.push(Rc::new(new));
            return self.begin(process, time, mappings);
        }
        if let Some(mappings) = space.and_then(|space| self.spaces.get_mut(space.0 as usize)) {
            mappings.push(Rc::new(new));
            self.count += 1;
        }
    }

    fn mappings_of(&self, process: u32) -> &[Rc<Mapping>] {
        let space = self.of_process.get(&process).and_then(Changes::last);
        space.map_or(&[], |space| self.mappings(space))
    }

    pub(super) fn mappings(&self, space: SpaceId) -> &[Rc<Mapping>] {
        self.spaces.get(space.0 as usize).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns a space that has no code: that of threads that are not known.
    pub(super) fn without_code(&self) -> SpaceId {
        SpaceId(self.spaces.len() as u32)
    }

    /// Returns the space of a process at a time, or its first one before that.
    pub(super) fn space(&self, process: u32, time: u64) -> Option<SpaceId> {
        let spaces = self.of_process.get(&process)?;
        spaces.at(time).or_else(|| spaces.0.first().map(|(_, space)| *space))
    }

    /// Returns the thread that a CPU executes at a time.
    pub(super) fn on_cpu(&self, cpu: u32, time: u64) -> Option<Task> {
        self.of_cpu.get(&cpu)?.at(time)?
    }

    /// Returns a thread with its process, which is its own if the file does not have it.
    pub(super) fn task(&self, thread: u32) -> Task {
        Task { process: self.processes.get(&thread).copied().unwrap_or(thread), thread }
    }

    pub(super) fn name(&self, thread: u32) -> &str {
        self.names.get(&thread).map(String::as_str).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_in_the_order_of_time() {
        let mut changes = Changes::default();
        for (time, value) in [(10, 'a'), (5, 'b'), (20, 'c')] {
            changes.push(time, value);
        }
        let found = [5, 9, 10, 19, 20].map(|time| changes.at(time));
        assert_eq!(found, [None, None, Some('b'), Some('b'), Some('c')]);
    }

    #[test]
    fn processes_share_mappings_up_to_the_limit() {
        let mapped = |address| AuxEvent::Mapped {
            process: 1,
            address,
            size: 1,
            offset: 0,
            path: "/bin/x".to_owned(),
            build_id: Vec::new(),
        };
        let mapped = (0..1 << 10).map(|address| (0, mapped(address)));
        let forked =
            (2..).map(|process| (0, AuxEvent::Forked { process, thread: process, creator: 1 }));
        let events = |forks| mapped.clone().chain(forked.clone().take(forks));
        let timeline = Timeline::new(events(1)).unwrap();
        let [first, second] = [SpaceId(0), SpaceId(1)].map(|space| timeline.mappings(space));
        assert!(first.len() == 1 << 10 && second.len() == 1 << 10);
        assert!(first.iter().zip(second).all(|(first, second)| Rc::ptr_eq(first, second)));
        assert!(Timeline::new(events((1 << 12) - 1)).is_ok());
        let refused = Timeline::new(events(1 << 12));
        assert!(matches!(refused, Err(ImportError::TooManyMappings { limit: MAX_MAPPINGS })));
    }
}
