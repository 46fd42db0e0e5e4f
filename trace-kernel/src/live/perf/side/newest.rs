//! The newest switches of each CPU, and the newest facts about processes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::state::State;
use crate::live::perf::aux_event::AuxEvent;

/// Removes events that are too old.
#[derive(Debug)]
pub(super) struct Newest {
    /// The number of switches of each CPU, and of facts, that are kept.
    number: usize,
    /// How many events were looked at, how many of them are switches, by CPU, and how many are
    /// facts: names, starts and mappings.
    seen: usize,
    switches: HashMap<u32, usize>,
    facts: usize,
}

impl Newest {
    pub(super) fn new(number: usize) -> Self {
        Self { number, seen: 0, switches: HashMap::new(), facts: 0 }
    }

    /// Removes all but the newest events as soon as there are twice as many. Events were only added
    /// since the last call. `state` is that before the events. It gets the facts that are removed,
    /// and keeps the threads that are in other events or for which `lives` returns true.
    pub(super) fn keep(
        &mut self,
        events: &mut Vec<(u64, AuxEvent)>,
        state: &mut State,
        lives: impl Fn(u32) -> bool,
    ) {
        let mut is_full = false;
        for (_, event) in events.iter().skip(self.seen) {
            let count = match cpu(event) {
                Some(cpu) => self.switches.entry(cpu).or_default(),
                None => &mut self.facts,
            };
            *count += 1;
            is_full |= *count >= 2 * self.number;
        }
        if is_full {
            events.sort_by_key(|(time, _)| *time);
            self.fold(events, state);
            self.remove_switches(events);
            let needed: BTreeSet<u32> = events.iter().flat_map(|(_, event)| ids(event)).collect();
            state.retain(|id| needed.contains(&id) || lives(id));
        }
        self.seen = events.len();
    }

    /// Moves the oldest facts to the state. What was executed before them cannot be decoded, so
    /// that of the switches before them only the last one of each CPU is left.
    fn fold(&mut self, events: &mut Vec<(u64, AuxEvent)>, state: &mut State) {
        let Some(surplus) = self.facts.checked_sub(self.number).filter(|it| *it > 0) else {
            return;
        };
        let facts = events.iter().enumerate().filter(|(_, (_, event))| cpu(event).is_none());
        let last = facts.map(|(index, _)| index).nth(surplus - 1);
        let mut kept = BTreeMap::new();
        for (time, event) in events.drain(..last.map_or(0, |last| last + 1)) {
            match cpu(&event) {
                Some(cpu) => {
                    *self.switches.entry(cpu).or_default() -= 1;
                    kept.insert(cpu, (time, event));
                }
                None => {
                    self.facts -= 1;
                    state.apply(event);
                }
            }
        }
        kept.keys().for_each(|cpu| *self.switches.entry(*cpu).or_default() += 1);
        let mut kept: Vec<_> = kept.into_values().collect();
        kept.sort_by_key(|(time, _)| *time);
        events.splice(..0, kept);
    }

    fn remove_switches(&mut self, events: &mut Vec<(u64, AuxEvent)>) {
        let mut surplus = std::mem::take(&mut self.switches);
        surplus.values_mut().for_each(|count| *count = count.saturating_sub(self.number));
        events.retain(|(_, event)| {
            let Some(cpu) = cpu(event) else { return true };
            let left = surplus.entry(cpu).or_default();
            let is_kept = *left == 0;
            *left = left.saturating_sub(1);
            *self.switches.entry(cpu).or_default() += usize::from(is_kept);
            is_kept
        });
    }
}

/// Returns the CPU of a switch.
fn cpu(event: &AuxEvent) -> Option<u32> {
    match event {
        AuxEvent::Entered { cpu, .. } | AuxEvent::Left { cpu } => Some(*cpu),
        _ => None,
    }
}

/// Returns the threads and processes of an event.
fn ids(event: &AuxEvent) -> impl Iterator<Item = u32> {
    let ids = match event {
        AuxEvent::Named { process, thread, .. } | AuxEvent::Entered { process, thread, .. } => {
            [Some(*process), Some(*thread), None]
        }
        AuxEvent::Forked { process, thread, creator } => {
            [Some(*process), Some(*thread), Some(*creator)]
        }
        AuxEvent::Mapped { process, .. } => [Some(*process), None, None],
        AuxEvent::Left { .. } => [None; 3],
    };
    ids.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NUMBER: usize = 5;

    /// Returns a switch of a CPU, or a fact about one of a few processes.
    fn event(number: u32, cpu: Option<u32>) -> AuxEvent {
        let process = 1 + number % 7;
        match cpu {
            None if number % 3 == 0 => {
                AuxEvent::Forked { process, thread: process, creator: 1 + number % 5 }
            }
            None if number % 3 == 1 => {
                let (name, is_exec) = (number.to_string(), number % 2 == 0);
                AuxEvent::Named { process, thread: process, name, is_exec }
            }
            None => {
                let (address, path) = (u64::from(number % 4) << 12, number.to_string());
                AuxEvent::Mapped {
                    process,
                    address,
                    size: 0x1800,
                    offset: 0,
                    path,
                    build_id: Vec::new(),
                }
            }
            Some(cpu) if number % 2 == 0 => AuxEvent::Left { cpu },
            Some(cpu) => AuxEvent::Entered { cpu, process, thread: process },
        }
    }

    fn state<'a>(events: impl IntoIterator<Item = &'a AuxEvent>) -> State {
        let mut state = State::default();
        events.into_iter().cloned().for_each(|event| state.apply(event));
        state
    }

    fn of(events: &[(u64, AuxEvent)], of: Option<u32>) -> Vec<(u64, AuxEvent)> {
        events.iter().filter(|(_, event)| cpu(event) == of).cloned().collect()
    }

    proptest! {
        /// There are fewer events than twice the number, the newest ones. The state with the facts
        /// that are left is that of all. Each CPU has the switch before the first fact that is
        /// left.
        #[test]
        fn the_newest_events_are_left(
            rounds in proptest::collection::vec(
                proptest::collection::vec(proptest::option::weighted(0.7, 0..3_u32), 0..12),
                1..30,
            ),
        ) {
            let (mut newest, mut events, mut all) = (Newest::new(NUMBER), Vec::new(), Vec::new());
            let mut before = State::default();
            for round in rounds {
                for cpu in round {
                    let number = all.len() as u32;
                    let timed = (u64::from(number), event(number, cpu));
                    all.push(timed.clone());
                    events.push(timed);
                }
                newest.keep(&mut events, &mut before, |_| true);
                let facts = of(&events, None);
                let all_facts = of(&all, None);
                prop_assert!(all_facts.ends_with(&facts) && facts.len() < 2 * NUMBER);
                prop_assert!(facts.len() >= NUMBER.min(all_facts.len()));
                let left = before.events().chain(facts.iter().map(|(_, event)| event));
                prop_assert_eq!(state(left), state(all_facts.iter().map(|(_, event)| event)));
                // From here on, the threads of CPUs are known.
                let forgotten = all_facts.len() - facts.len();
                let start = forgotten.checked_sub(1).map_or(0, |last| all_facts[last].0);
                for cpu in 0..3 {
                    let (found, expected) = (of(&events, Some(cpu)), of(&all, Some(cpu)));
                    prop_assert!(expected.ends_with(&found) && found.len() < 2 * NUMBER);
                    let since = expected.iter().filter(|(time, _)| *time >= start).count();
                    let least = (since + 1).min(expected.len());
                    prop_assert!(found.len() >= least.min(NUMBER));
                }
            }
        }
    }

    /// The memory is bounded: processes that have ended are forgotten with their last event.
    #[test]
    fn processes_that_have_ended_are_forgotten() {
        let (mut newest, mut events) = (Newest::new(NUMBER), Vec::new());
        let mut before = State::default();
        for process in 0..1000 {
            let name = process.to_string();
            let named = AuxEvent::Named { process, thread: process, name, is_exec: true };
            events.push((u64::from(process), named));
            newest.keep(&mut events, &mut before, |id| id == 7);
            assert!(before.events().count() <= 1 && events.len() < 2 * NUMBER);
        }
        let names: Vec<_> = before.events().flat_map(ids).collect();
        assert!(names.contains(&7), "it lives: {names:?}");
    }
}
