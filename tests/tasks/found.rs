//! The tasks in an archive, and the checks of each of them.

use std::collections::BTreeMap;

use crate::archive::{Event, Provider, Shape};

/// All tasks of an archive, by their ids.
#[derive(Debug)]
pub(crate) struct Tasks(pub(crate) BTreeMap<u64, Task>);

/// A task, from its records. Times are in nanoseconds.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) parent: Option<u64>,
    /// The arguments of its begin.
    pub(crate) numbers: BTreeMap<String, u64>,
    pub(crate) texts: BTreeMap<String, String>,
    pub(crate) begin: u64,
    /// When it ended, and how.
    pub(crate) end: Option<(u64, String)>,
    pub(crate) polls: Vec<Poll>,
    flows: Vec<Flow>,
}

/// One poll.
#[derive(Debug)]
pub(crate) struct Poll {
    pub(crate) thread: u64,
    pub(crate) start: u64,
    pub(crate) end: u64,
    count: u64,
    pub(crate) state: String,
}

#[derive(Debug, PartialEq)]
struct Flow {
    kind: &'static str,
    thread: u64,
    at: u64,
}

impl Tasks {
    /// Collects the records of each task.
    ///
    /// # Panics
    /// If they contradict one another.
    #[track_caller]
    pub(crate) fn of(provider: &Provider) -> Self {
        let mut tasks = Self::cut(provider);
        tasks.0.values_mut().for_each(|task| task.check_last());
        tasks
    }

    /// Like [`Tasks::of`], for a recording that may have ended between any two records.
    #[track_caller]
    pub(crate) fn cut(provider: &Provider) -> Self {
        let mut tasks = Self(BTreeMap::new());
        let nanos = |ticks| provider.rate.to_nanos(ticks);
        for event in &provider.events {
            if let Shape::AsyncBegin(id) = event.shape {
                let another = tasks.0.insert(id, Task::begun(id, event, nanos(event.ticks)));
                assert!(another.is_none(), "two tasks share the track {id:#x}: {another:?}");
            }
        }
        for event in &provider.events {
            tasks.take(event, &nanos);
        }
        tasks.0.values_mut().for_each(Task::check);
        for task in tasks.0.values() {
            let known = task.parent.is_none_or(|parent| tasks.0.contains_key(&parent));
            assert!(known, "no parent: {task:?}");
        }
        tasks
    }

    fn take(&mut self, event: &Event, nanos: &dyn Fn(u64) -> u64) {
        let at = nanos(event.ticks);
        let flow = |kind| Flow { kind, thread: event.thread, at };
        match event.shape {
            Shape::AsyncEnd(id) => {
                let another = self.by_id(id, event).end.replace((at, event.texts["state"].clone()));
                assert_eq!(another, None, "two ends");
            }
            Shape::FlowBegin(id) => self.by_id(id, event).flows.push(flow("begin")),
            Shape::FlowStep(id) => self.by_id(id, event).flows.push(flow("step")),
            Shape::FlowEnd(id) => self.by_id(id, event).flows.push(flow("end")),
            Shape::Complete(end) => {
                let Some(id) = event.numbers.get("task") else { return };
                let (count, state) =
                    (event.numbers["poll-count"], event.texts["poll-state"].clone());
                let poll = Poll { thread: event.thread, start: at, end: nanos(end), count, state };
                self.by_id(*id, event).polls.push(poll);
            }
            _ => {}
        }
    }

    #[track_caller]
    fn by_id(&mut self, id: u64, event: &Event) -> &mut Task {
        let task =
            self.0.get_mut(&id).unwrap_or_else(|| panic!("a record without a task: {event:?}"));
        assert_eq!(task.name, event.name, "all records of a task have its name");
        task
    }

    /// Returns the tasks with this name, in the order of their begins.
    pub(crate) fn named(&self, name: &str) -> Vec<&Task> {
        let mut tasks: Vec<_> = self.0.values().filter(|task| task.name == name).collect();
        tasks.sort_by_key(|task| task.begin);
        tasks
    }

    /// Returns the only task with this name.
    #[track_caller]
    pub(crate) fn only(&self, name: &str) -> &Task {
        let tasks = self.named(name);
        let [task] = tasks[..] else { panic!("{} tasks are called {name}", tasks.len()) };
        task
    }
}

impl Task {
    fn begun(id: u64, event: &Event, begin: u64) -> Self {
        let mut numbers = event.numbers.clone();
        Self {
            id,
            name: event.name.clone(),
            parent: numbers.remove("parent"),
            numbers,
            texts: event.texts.clone(),
            begin,
            end: None,
            polls: Vec::new(),
            flows: Vec::new(),
        }
    }

    /// Returns its final state.
    #[track_caller]
    pub(crate) fn state(&self) -> &str {
        let (_, state) = self.end.as_ref().unwrap_or_else(|| panic!("it has not ended: {self:?}"));
        state
    }

    /// Returns the time from its begin to its end.
    #[track_caller]
    pub(crate) fn wall_nanos(&self) -> u64 {
        let (end, _) = self.end.as_ref().unwrap_or_else(|| panic!("it has not ended: {self:?}"));
        end - self.begin
    }

    /// Returns its time on threads.
    pub(crate) fn poll_nanos(&self) -> u64 {
        self.polls.iter().map(|poll| poll.end - poll.start).sum()
    }

    /// Checks a task, for any end of the recording.
    fn check(&mut self) {
        self.polls.sort_by_key(|poll| poll.count);
        self.flows.sort_by_key(|flow| flow.at);
        let counts: Vec<_> = self.polls.iter().map(|poll| poll.count).collect();
        assert_eq!(counts, (1..=counts.len() as u64).collect::<Vec<_>>(), "{self:?}");
        for pair in self.polls.windows(2) {
            assert_eq!(pair[0].state, "pending", "{self:?}");
            assert!(pair[0].end <= pair[1].start, "polls overlap: {self:?}");
        }
        let expected = self.expected_flows();
        let cut = &expected[..expected.len().saturating_sub(1)];
        let is_valid = self.flows == expected || self.end.is_none() && self.flows == cut;
        assert!(is_valid, "{expected:?}, not {self:?}");
        if self.end.is_some() {
            self.check_last();
        }
    }

    /// Checks a task whose records are complete.
    fn check_last(&self) {
        let last = self.polls.last().map(|poll| (poll.state.as_str(), poll.end));
        assert!(self.polls.first().is_none_or(|poll| poll.start >= self.begin), "{self:?}");
        match (&self.end, last) {
            (Some((at, state)), last) if state == "cancelled" => {
                let (state, end) = last.unwrap_or(("pending", self.begin));
                assert!(state == "pending" && end <= *at, "{self:?}");
            }
            (Some((at, state)), last) => assert_eq!(last, Some((state.as_str(), *at)), "{self:?}"),
            (None, last) => assert!(last.is_none_or(|(state, _)| state == "pending"), "{self:?}"),
        }
    }

    /// Returns the flow: an arrow from each poll to the next.
    fn expected_flows(&self) -> Vec<Flow> {
        let kinds = self.polls.iter().enumerate().map(|(index, poll)| match poll.state.as_str() {
            "pending" if index == 0 => Some("begin"),
            "pending" => Some("step"),
            _ if index == 0 => None,
            _ => Some("end"),
        });
        let flow = |(kind, poll): (Option<&'static str>, &Poll)| {
            kind.map(|kind| Flow { kind, thread: poll.thread, at: poll.start })
        };
        kinds.zip(&self.polls).filter_map(flow).collect()
    }
}
