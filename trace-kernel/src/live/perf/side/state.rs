//! The names and the code of processes at one moment.

use std::collections::BTreeMap;

use crate::live::perf::aux_event::AuxEvent;

/// What events have led to: the names of threads, and the code of processes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    /// By thread.
    names: BTreeMap<u32, AuxEvent>,
    /// By process.
    code: BTreeMap<u32, Vec<AuxEvent>>,
}

impl State {
    /// Takes the next event.
    pub(super) fn apply(&mut self, event: AuxEvent) {
        match event {
            AuxEvent::Named { process, thread, name, is_exec } => {
                if is_exec {
                    self.code.remove(&process);
                }
                let named = AuxEvent::Named { process, thread, name, is_exec: false };
                self.names.insert(thread, named);
            }
            AuxEvent::Forked { process, creator, .. } if process != creator => {
                let inherited = self.code.get(&creator).into_iter().flatten();
                let own: Vec<_> = inherited.map(|mapping| of_process(mapping, process)).collect();
                self.code.remove(&process);
                if !own.is_empty() {
                    self.code.insert(process, own);
                }
            }
            AuxEvent::Mapped { process, address, size, .. } => {
                let code = self.code.entry(process).or_default();
                code.retain(|other| !overlaps(other, address, size));
                code.push(event);
            }
            _ => {}
        }
    }

    /// Forgets the threads and the processes for which `is_needed` returns false.
    pub(super) fn retain(&mut self, is_needed: impl Fn(u32) -> bool) {
        self.names.retain(|thread, _| is_needed(*thread));
        self.code.retain(|process, _| is_needed(*process));
    }

    /// Returns events that lead to the state.
    pub(super) fn events(&self) -> impl Iterator<Item = &AuxEvent> {
        self.names.values().chain(self.code.values().flatten())
    }
}

fn of_process(mapping: &AuxEvent, process: u32) -> AuxEvent {
    let mut mapping = mapping.clone();
    if let AuxEvent::Mapped { process: owner, .. } = &mut mapping {
        *owner = process;
    }
    mapping
}

fn overlaps(mapping: &AuxEvent, start: u64, length: u64) -> bool {
    match mapping {
        AuxEvent::Mapped { address, size, .. } => {
            *address < start.saturating_add(length) && start < address.saturating_add(*size)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(process: u32, address: u64, size: u64) -> AuxEvent {
        let (path, build_id) = ("/x".to_owned(), Vec::new());
        AuxEvent::Mapped { process, address, size, offset: 0, path, build_id }
    }

    fn named(process: u32, name: &str, is_exec: bool) -> AuxEvent {
        AuxEvent::Named { process, thread: process, name: name.to_owned(), is_exec }
    }

    #[test]
    fn a_state_is_what_its_events_have_led_to() {
        let mut state = State::default();
        let all = [
            named(1, "sh", false),
            mapped(1, 0x1000, 0x1000),
            AuxEvent::Forked { process: 2, thread: 2, creator: 1 },
            // A thread has the code of its process.
            AuxEvent::Forked { process: 1, thread: 3, creator: 1 },
            mapped(1, 0x1800, 0x1000),
            mapped(1, 0x4000, 0x1000),
            AuxEvent::Forked { process: 4, thread: 4, creator: 1 },
            named(4, "ls", true),
            mapped(4, 0x9000, 0x1000),
            AuxEvent::Left { cpu: 0 },
        ];
        all.into_iter().for_each(|event| state.apply(event));
        let expected = [
            named(1, "sh", false),
            named(4, "ls", false),
            mapped(1, 0x1800, 0x1000),
            mapped(1, 0x4000, 0x1000),
            mapped(2, 0x1000, 0x1000),
            mapped(4, 0x9000, 0x1000),
        ];
        assert!(state.events().eq(&expected), "{state:?}");
        state.retain(|id| id != 1);
        assert!(state.events().eq([&expected[1], &expected[4], &expected[5]]), "{state:?}");
    }
}
