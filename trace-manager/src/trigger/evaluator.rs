//! Evaluation of the conditions of a session.
//!
//! Counters, scopes and log messages are compared when their records are collected: in streaming
//! mode when a rolling buffer is saved, for which providers are flushed several times a second.
//! Schedules and losses are compared in each call of [`Evaluator::tick`].

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use trace_format::layout::{record, RecordType};
use trace_format::{decode, Event, EventKind, Record, Text, Thread, ThreadKoids, TickRate, Value};
use trace_protocol::archive::ClockSample;
use trace_protocol::buffer::consumer::record_words;
use trace_protocol::message::ClockSource;
use trace_protocol::words::as_bytes;

use super::counter::CounterState;
use super::names::Names;
use super::schedule::Schedule;
use super::scopes::{Owner, ScopeState};
use super::{Condition, LogLevel, TriggerRule};

/// The argument of an event that has the level of a log message.
const LEVEL: &str = "level";

/// The age at which all records of a provider are collected: it is flushed several times a second.
const COLLECTED_AFTER: Duration = Duration::from_secs(1);

/// The state of the conditions of a session.
#[derive(Debug)]
pub(crate) struct Evaluator {
    rules: Vec<Evaluated>,
    /// The strings that conditions compare.
    wanted: BTreeSet<Box<[u8]>>,
    providers: BTreeMap<u32, Provider>,
    /// The number of dropped records that was seen last.
    lost: u64,
    needs_records: bool,
}

#[derive(Debug)]
struct Evaluated {
    condition: Condition,
    cause: String,
    state: State,
    /// Whether a program has the condition's category and name.
    is_known: bool,
    /// The number of times that it began to hold and was not taken.
    held: u64,
}

/// The state of a condition.
#[derive(Debug)]
enum State {
    Counter(CounterState),
    Log(LogLevel),
    Scopes(ScopeState),
    Drop,
    Schedule(Schedule),
    /// Others report it.
    External,
}

#[derive(Debug)]
struct Provider {
    names: Names,
    threads: BTreeMap<u8, ThreadKoids>,
    clock: ClockSource,
    rate: TickRate,
}

impl Evaluated {
    fn new(rule: &TriggerRule, now: SystemTime) -> Self {
        let state = match &rule.condition {
            Condition::Counter(counter) => State::Counter(CounterState::new(counter.clone())),
            Condition::Log(level) => State::Log(*level),
            Condition::Duration(limit) => State::Scopes(ScopeState::new(limit.clone())),
            Condition::Drop => State::Drop,
            Condition::Every(interval) => State::Schedule(Schedule::every(*interval)),
            Condition::At(time) => State::Schedule(Schedule::at(*time, now)),
            _ => State::External,
        };
        let (condition, cause) = (rule.condition.clone(), rule.condition.to_string());
        let is_known = condition.texts().is_empty();
        Self { condition, cause, state, is_known, held: 0 }
    }

    fn hold_if(&mut self, holds: bool) {
        self.held += u64::from(holds);
    }
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
        let mut wanted: BTreeSet<Box<[u8]>> = BTreeSet::new();
        for rule in &evaluated {
            wanted.extend(rule.condition.texts().iter().map(|text| text.as_bytes().into()));
            match &rule.condition {
                Condition::Counter(counter) => {
                    wanted.extend(counter.dotted_name().map(|name| name.into_bytes().into()));
                }
                Condition::Log(_) => {
                    let names = LogLevel::names().chain([LEVEL.to_owned()]);
                    wanted.extend(names.map(|name| name.into_bytes().into()));
                }
                _ => {}
            }
        }
        let needs_records = rules.iter().any(|rule| rule.condition.needs_records());
        Self { rules: evaluated, wanted, providers: BTreeMap::new(), lost: 0, needs_records }
    }

    /// Returns whether there are no conditions.
    pub(crate) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns whether providers must be flushed, because conditions are evaluated over records.
    pub(crate) fn needs_records(&self) -> bool {
        self.needs_records
    }

    /// Adds a provider whose clock has this many ticks in a second.
    pub(crate) fn open(&mut self, provider: u32, clock: ClockSource, ticks_per_second: u64) {
        if self.is_empty() {
            return;
        }
        if let Some(rate) = TickRate::from_ticks_per_second(ticks_per_second) {
            let (names, threads) = (Names::default(), BTreeMap::new());
            self.providers.insert(provider, Provider { names, threads, clock, rate });
        }
    }

    /// Evaluates the conditions over collected records of a provider.
    pub(crate) fn records(&mut self, provider: u32, words: &[u64]) {
        let Some(state) = self.providers.get_mut(&provider) else { return };
        let mut rest = words;
        while let Some(header) = rest.first() {
            let size = record_words(*header).unwrap_or(usize::MAX).min(rest.len());
            let (record, behind) = rest.split_at(size);
            rest = behind;
            if !is_relevant(*header, self.needs_records) {
                continue;
            }
            match decode::record(as_bytes(record)) {
                Ok(Record::String { index, value }) => {
                    state.names.register(index, value, &self.wanted);
                }
                Ok(Record::Thread { index, koids }) => drop(state.threads.insert(index, koids)),
                Ok(Record::Event(event)) => {
                    evaluate_event(&mut self.rules, provider, state, &event)
                }
                Ok(Record::Log(log)) => {
                    log_message(&mut self.rules, LogLevel::of_message(log.message));
                }
                _ => {}
            }
        }
        for rule in self.rules.iter_mut().filter(|rule| !rule.is_known) {
            rule.is_known = rule.is_known_to(&state.names);
        }
    }

    /// Removes a provider after its last records.
    pub(crate) fn close(&mut self, provider: u32) {
        self.providers.remove(&provider);
        for rule in &mut self.rules {
            match &mut rule.state {
                State::Counter(counter) => counter.remove(provider),
                State::Scopes(scopes) => scopes.remove(provider),
                _ => {}
            }
        }
    }

    /// Evaluates the conditions that depend on time and on losses. `lost` is the number of dropped
    /// records of the session.
    pub(crate) fn tick(&mut self, elapsed: Duration, wall: SystemTime, lost: u64) {
        let has_dropped = lost > self.lost;
        self.lost = self.lost.max(lost);
        for rule in &mut self.rules {
            let holds = match &mut rule.state {
                State::Drop => has_dropped,
                State::Schedule(schedule) => schedule.is_due(elapsed, wall),
                _ => false,
            };
            rule.hold_if(holds);
        }
    }

    /// Evaluates the conditions on counters that keep their values.
    pub(crate) fn advance(&mut self, now: &ClockSample) {
        for (id, provider) in &self.providers {
            let nanos = provider.rate.to_nanos(now.ticks(provider.clock));
            let nanos = nanos.saturating_sub(COLLECTED_AFTER.as_nanos() as u64);
            for rule in &mut self.rules {
                if let State::Counter(counter) = &mut rule.state {
                    let holds = counter.advance(*id, nanos);
                    rule.held += u64::from(holds);
                }
            }
        }
    }

    /// Notes that a condition holds which is evaluated elsewhere.
    pub(crate) fn hold(&mut self, condition: &Condition) {
        for rule in self.rules.iter_mut().filter(|rule| rule.condition == *condition) {
            rule.hold_if(true);
        }
    }

    /// Returns the conditions that began to hold since the last call, and how often.
    pub(crate) fn take(&mut self) -> Vec<(String, u64)> {
        let held = self.rules.iter_mut().filter(|rule| rule.held != 0);
        held.map(|rule| (rule.cause.clone(), std::mem::take(&mut rule.held))).collect()
    }

    /// Returns the conditions whose category and name no program has.
    pub(crate) fn unknown(&self) -> Vec<String> {
        self.rules.iter().filter(|rule| !rule.is_known).map(|rule| rule.cause.clone()).collect()
    }
}

impl Evaluated {
    fn is_known_to(&self, names: &Names) -> bool {
        let dotted = match &self.condition {
            Condition::Counter(counter) => counter.dotted_name().map(|name| (counter, name)),
            _ => None,
        };
        let is_dotted = dotted.is_some_and(|(it, name)| names.has_all(&[&it.category, &name]));
        is_dotted || names.has_all(&self.condition.texts())
    }
}

/// Returns whether a record must be decoded.
#[inline]
fn is_relevant(header: u64, needs_records: bool) -> bool {
    let kind = record::Type::get(header);
    let kinds = [RecordType::Event, RecordType::Log, RecordType::Thread].map(RecordType::bits);
    kind == RecordType::String.bits() || (needs_records && kinds.contains(&kind))
}

fn evaluate_event(rules: &mut [Evaluated], id: u32, provider: &Provider, event: &Event<'_>) {
    let EventKind::Counter { id: counter } = event.kind else {
        if matches!(event.kind, EventKind::Instant { .. }) {
            log_message(rules, level_of(&provider.names, event));
        }
        return evaluate_scope(rules, id, provider, event);
    };
    let names = &provider.names;
    let (category, name) = (names.text(event.category), names.text(event.name));
    let nanos = provider.rate.to_nanos(event.ticks);
    for rule in rules {
        let State::Counter(state) = &mut rule.state else { continue };
        for argument in event.arguments.iter() {
            let (series, value) = (names.text(argument.name), argument.value.number());
            let Some(value) = value else { continue };
            if state.condition().matches(category, name, series) {
                rule.is_known = true;
                let key = (counter, key_of(argument.name));
                let holds = state.sample(id, key, nanos, value);
                rule.held += u64::from(holds);
            }
        }
    }
}

/// Evaluates the conditions on scopes and asynchronous operations.
fn evaluate_scope(rules: &mut [Evaluated], id: u32, provider: &Provider, event: &Event<'_>) {
    let (category, name) = (provider.names.text(event.category), provider.names.text(event.name));
    let nanos = provider.rate.to_nanos(event.ticks);
    let operation = |operation| Owner::Operation { provider: id, id: operation };
    for rule in rules {
        let State::Scopes(scopes) = &mut rule.state else { continue };
        if !scopes.matches(category, name) {
            continue;
        }
        rule.is_known = true;
        let holds = match event.kind {
            EventKind::DurationComplete { end } => scopes.holds(nanos, provider.rate.to_nanos(end)),
            EventKind::DurationBegin => {
                scopes.begin(provider.thread(id, event.thread), nanos);
                false
            }
            EventKind::AsyncBegin { id } => {
                scopes.begin(operation(id), nanos);
                false
            }
            EventKind::DurationEnd => scopes.end(provider.thread(id, event.thread), nanos),
            EventKind::AsyncEnd { id } => scopes.end(operation(id), nanos),
            _ => false,
        };
        rule.held += u64::from(holds);
    }
}

impl Provider {
    fn thread(&self, id: u32, thread: Thread) -> Owner {
        let koids = match thread {
            Thread::Inline(koids) => koids,
            Thread::Indexed(index) => {
                self.threads.get(&index).copied().unwrap_or(ThreadKoids::UNKNOWN)
            }
        };
        Owner::Thread { provider: id, process: koids.process, thread: koids.thread }
    }
}

/// Returns the part of a counter's key for a series.
fn key_of(series: Text<'_>) -> Box<[u8]> {
    match series {
        Text::Inline(bytes) => bytes.into(),
        Text::Indexed(index) => index.to_le_bytes().into(),
    }
}

/// Returns the level of an event that is a log message, as the bridge of `tracing` records it.
fn level_of(names: &Names, event: &Event<'_>) -> Option<LogLevel> {
    let mut arguments = event.arguments.iter();
    let level = arguments.find(|argument| names.text(argument.name) == LEVEL.as_bytes())?;
    match level.value {
        Value::String(text) => LogLevel::from_name(names.text(text)),
        _ => None,
    }
}

fn log_message(rules: &mut [Evaluated], level: Option<LogLevel>) {
    let Some(level) = level else { return };
    for rule in rules {
        if let State::Log(least) = rule.state {
            rule.hold_if(level <= least);
        }
    }
}
