//! Evaluation of the conditions of a session.
//!
//! Counters, scopes and log messages are compared when their records are collected: in streaming
//! mode when a rolling buffer is saved, for which providers are flushed several times a second.
//! Schedules and losses are compared in each call of [`Evaluator::tick`].

mod evaluated;
mod groups;
mod observation;
mod observations;
mod provider;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use trace_format::layout::{record, RecordType};
use trace_format::{decode, notes, Record, TickRate};
use trace_protocol::buffer::consumer::record_words;
use trace_protocol::words::as_bytes;

use self::evaluated::{Evaluated, State};
use self::groups::Groups;
use self::observations::Observations;
use self::provider::{Provider, LEVEL, POLL, POLL_STATE};
use super::watch::DurationWatch;
use super::{Condition, LogLevel, TriggerRule};

/// The time after which the manager sees that another processor has begun a rolling buffer.
const VISIBLE_AFTER: Duration = Duration::from_millis(1);

/// The state of the conditions of a session.
#[derive(Debug)]
pub(crate) struct Evaluator {
    conditions: Vec<Evaluated>,
    groups: Groups,
    /// The number of the first condition; those of the others follow.
    first_number: u32,
    /// The strings that conditions compare.
    compared: BTreeSet<Box<[u8]>>,
    providers: BTreeMap<u32, Provider>,
    /// The number of dropped records that was seen last.
    lost: u64,
    needs_records: bool,
    /// Empty between calls.
    observations: Observations,
}

impl Evaluator {
    /// Creates the state of these triggers at the start of a session.
    pub(crate) fn new(rules: &[TriggerRule], now: SystemTime) -> Self {
        let mut evaluated: Vec<Evaluated> = Vec::new();
        for rule in rules {
            // A condition of several triggers is evaluated once.
            if evaluated.iter().all(|it| it.condition != rule.condition) {
                evaluated.push(Evaluated::new(rule, now));
            }
        }
        let mut compared: BTreeSet<Box<[u8]>> = BTreeSet::new();
        for rule in &evaluated {
            compared.extend(rule.condition.texts().iter().map(|text| text.as_bytes().into()));
            match &rule.condition {
                Condition::Counter(counter) => {
                    compared.extend(counter.dotted_name().map(|name| name.into_bytes().into()));
                }
                Condition::Duration(_) => {
                    let keys = POLL.into_iter().chain([POLL_STATE]);
                    compared.extend(keys.map(|key| key.as_bytes().into()));
                }
                Condition::Log(_) => {
                    let names = LogLevel::names().chain([LEVEL.to_owned()]);
                    compared.extend(names.map(|name| name.into_bytes().into()));
                }
                _ => {}
            }
        }
        let needs_records = rules.iter().any(|rule| rule.condition.needs_records());
        if needs_records {
            let report = [notes::CATEGORY, notes::RECORDS_DROPPED];
            compared.extend(report.map(|text| text.as_bytes().into()));
        }
        Self {
            groups: Groups::new(&evaluated),
            conditions: evaluated,
            first_number: 0,
            compared,
            providers: BTreeMap::new(),
            lost: 0,
            needs_records,
            observations: Observations::default(),
        }
    }

    /// Returns whether there are no conditions.
    pub(crate) fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Returns whether providers must be flushed, because conditions are evaluated over records.
    pub(crate) fn needs_records(&self) -> bool {
        self.needs_records
    }

    /// Returns whether [`tick`](Self::tick) compares the number of dropped records.
    pub(crate) fn needs_losses(&self) -> bool {
        self.conditions.iter().any(|rule| matches!(rule.state, State::Drop))
    }

    /// Adds a provider whose clock has this many ticks in a second. `is_live` is whether its
    /// records are collected while it records.
    pub(crate) fn open(&mut self, provider: u32, ticks_per_second: u64, is_live: bool) {
        if !self.needs_records {
            return;
        }
        if let Some(rate) = TickRate::from_ticks_per_second(ticks_per_second) {
            self.providers.insert(provider, Provider::new(rate, is_live));
        }
    }

    /// Notes that the records of a provider are collected while it records, from now on.
    pub(crate) fn stream(&mut self, provider: u32) {
        self.providers.entry(provider).and_modify(Provider::stream);
    }

    /// Returns whether the records of a provider are collected while it records.
    #[cfg(test)]
    pub(crate) fn is_live(&self, provider: u32) -> bool {
        self.providers.get(&provider).is_some_and(Provider::is_live)
    }

    /// Numbers the conditions from `first`. Returns those that providers compare, and the number
    /// after the last. `counter_rate` is that of the CPU's counter, in ticks a second.
    pub(crate) fn number(&mut self, first: u32, counter_rate: u64) -> (Vec<DurationWatch>, u32) {
        self.first_number = first;
        let mut next = first;
        let mut watches = Vec::new();
        for rule in &self.conditions {
            if let Condition::Duration(condition) = &rule.condition {
                watches.push(condition.watch(next, counter_rate));
            }
            next = next.wrapping_add(1);
        }
        (watches, next)
    }

    fn index_of(&self, number: u32) -> Option<usize> {
        let index = number.wrapping_sub(self.first_number) as usize;
        Some(index).filter(|index| *index < self.conditions.len())
    }

    /// Notes that a provider compares the condition of this number from its next records on.
    pub(crate) fn watch(&mut self, number: u32, provider: u32) {
        let Some(index) = self.index_of(number) else { return };
        if let Some(provider) = self.providers.get_mut(&provider) {
            provider.watched.insert(index);
        }
        self.conditions.get_mut(index).into_iter().for_each(|rule| rule.is_known = true);
    }

    /// Notes that the condition of this number held. Returns whether there is one.
    pub(crate) fn hold_watched(&mut self, number: u32, times: u64) -> bool {
        let rule = self.index_of(number).and_then(|index| self.conditions.get_mut(index));
        rule.map(|rule| rule.held = rule.held.saturating_add(times)).is_some()
    }

    /// Evaluates the conditions over collected records of a provider.
    pub(crate) fn records(&mut self, provider: u32, words: &[u64]) {
        self.compare(provider, words);
        self.observations.finish(&mut self.conditions, provider);
    }

    fn compare(&mut self, provider: u32, words: &[u64]) {
        let Some(state) = self.providers.get_mut(&provider) else { return };
        let mut rest = words;
        while let Some(header) = rest.first() {
            let size = record_words(*header).unwrap_or(usize::MAX).min(rest.len());
            let (record, behind) = rest.split_at(size);
            rest = behind;
            if !is_relevant(*header) {
                continue;
            }
            match decode::record(as_bytes(record)) {
                Ok(Record::String { index, value }) => {
                    state.names.register(index, value, &self.compared);
                }
                Ok(Record::Thread { index, koids }) => drop(state.threads.insert(index, koids)),
                Ok(Record::Event(event)) => {
                    if !self.groups.logs().is_empty() {
                        let level = state.level_of(&event);
                        log_message(&mut self.conditions, &self.groups, level);
                    }
                    let (conditions, groups) = (&mut self.conditions, &self.groups);
                    state.observe(conditions, groups, &event, &mut self.observations);
                    self.observations.limit(&mut self.conditions, provider);
                }
                Ok(Record::Log(log)) => {
                    let level = LogLevel::of_message(log.message);
                    log_message(&mut self.conditions, &self.groups, level);
                }
                _ => {}
            }
        }
        for rule in self.conditions.iter_mut().filter(|rule| !rule.is_known) {
            rule.is_known = rule.is_known_to(&state.names);
        }
    }

    /// Removes a provider after its last records.
    pub(crate) fn close(&mut self, provider: u32) {
        self.providers.remove(&provider);
        for rule in &mut self.conditions {
            match &mut rule.state {
                State::Counter(counter) => counter.remove(provider),
                State::Scopes(scopes) => scopes.remove(provider),
                _ => {}
            }
        }
    }

    /// Evaluates the conditions that depend on time and on losses. `lost` is the number of dropped
    /// records of the session, and `elapsed` the time since its start.
    pub(crate) fn tick(&mut self, elapsed: Duration, wall: SystemTime, lost: u64) {
        let has_dropped = lost > self.lost;
        self.lost = self.lost.max(lost);
        for rule in &mut self.conditions {
            let holds = match &mut rule.state {
                State::Drop => has_dropped,
                State::Schedule(schedule) => schedule.is_due(elapsed, wall),
                _ => false,
            };
            rule.hold_if(holds);
        }
    }

    /// Returns whether a condition begins to hold for a provider if its counters keep their values.
    pub(crate) fn waits_for(&self, provider: u32) -> bool {
        let is_waiting = |state: &State| match state {
            State::Counter(counter) => counter.is_waiting(provider),
            _ => false,
        };
        self.conditions.iter().any(|rule| is_waiting(&rule.state))
    }

    /// Evaluates the conditions on counters that keep their values. All records of the provider
    /// before `ticks` are evaluated.
    pub(crate) fn advance(&mut self, provider: u32, ticks: u64) {
        let Some(state) = self.providers.get(&provider) else { return };
        let nanos = state.rate.to_nanos(ticks).saturating_sub(VISIBLE_AFTER.as_nanos() as u64);
        for rule in &mut self.conditions {
            if let State::Counter(counter) = &mut rule.state {
                let holds = counter.advance(provider, nanos);
                rule.hold_if(holds);
            }
        }
    }

    /// Notes that a condition holds which is evaluated elsewhere.
    pub(crate) fn hold(&mut self, condition: &Condition) {
        for rule in self.conditions.iter_mut().filter(|rule| rule.condition == *condition) {
            rule.hold_if(true);
        }
    }

    /// Returns the conditions that began to hold since the last call, and how often.
    pub(crate) fn take(&mut self) -> Vec<(String, u64)> {
        let held = self.conditions.iter_mut().filter(|rule| rule.held != 0);
        held.map(|rule| (rule.cause.clone(), std::mem::take(&mut rule.held))).collect()
    }

    /// Returns the conditions of which some records were not compared: they were dropped, or a
    /// program has too many counters or open scopes. `has_lost` is whether the session lost any.
    pub(crate) fn incomplete(&self, has_lost: bool) -> Vec<String> {
        let incomplete = self.conditions.iter().filter(|rule| rule.is_incomplete(has_lost));
        incomplete.map(|rule| rule.cause.clone()).collect()
    }

    /// Returns the conditions on durations that programs did not compare, and whose records were
    /// collected at the end of the recording.
    pub(crate) fn late(&self) -> Vec<String> {
        let late = self.conditions.iter().filter(|rule| rule.is_late);
        late.map(|rule| rule.cause.clone()).collect()
    }

    /// Returns the conditions whose category and name no program has.
    pub(crate) fn unknown(&self) -> Vec<String> {
        self.conditions
            .iter()
            .filter(|rule| !rule.is_known)
            .map(|rule| rule.cause.clone())
            .collect()
    }
}

/// Returns whether a record must be decoded.
#[inline]
fn is_relevant(header: u64) -> bool {
    let kinds = [RecordType::String, RecordType::Thread, RecordType::Event, RecordType::Log];
    kinds.map(RecordType::bits).contains(&record::Type::get(header))
}

fn log_message(rules: &mut [Evaluated], groups: &Groups, level: Option<LogLevel>) {
    let Some(level) = level else { return };
    for index in groups.logs() {
        if let Some(Evaluated { state: State::Log(least), held, .. }) = rules.get_mut(*index) {
            *held += u64::from(level <= *least);
        }
    }
}
