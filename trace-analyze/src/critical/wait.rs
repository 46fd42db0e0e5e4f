//! The reasons of waits.

use serde_json::{json, Map, Value};
use trace_format::ThreadKoids;

use crate::exact;
use crate::schedule::history::{History, Period, PeriodState};
use crate::scheduling::Waker;
use crate::stats::Group;

/// Why nothing runs in a part of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wait {
    /// The archive does not show it.
    Unknown,
    /// The operation has begun, and nothing has run for it yet.
    Start,
    /// The event that the operation waited for has happened, and nothing has run for it since.
    Continue,
    /// Nothing more runs for the operation, and it has not ended yet.
    End,
    /// A message was sent, and is not yet received.
    Receipt,
    /// The archive does not show it, but the thread that runs next for the operation is woken up.
    Wakeup {
        /// The thread.
        thread: ThreadKoids,
        /// The thread or interrupt that wakes it up, or `None` if it is unknown.
        woken_by: Option<Waker<Group>>,
    },
    /// The thread that runs for the operation is blocked: it sleeps, or waits for a lock, a file
    /// or another thread.
    Blocked {
        /// The thread or interrupt that wakes it up, or `None` if it is unknown.
        woken_by: Option<Waker<Group>>,
    },
    /// The thread waits for a processor since it was woken up.
    Processor {
        /// The thread or interrupt that woke it up, or `None` if it is unknown.
        woken_by: Option<Waker<Group>>,
        /// The thread that ran last on its processor before it, or `None` if that is unknown or the
        /// processor was idle.
        last: Option<Group>,
    },
    /// The thread could continue, but has lost its processor.
    Preempted {
        /// The thread that got the processor, or `None` if it is unknown.
        by: Option<Group>,
        /// The thread that ran last on its next processor before it, or `None` if that is unknown
        /// or the processor was idle.
        last: Option<Group>,
    },
    /// The archive does not show it. The thread that runs next for the operation runs other code.
    OtherCode,
}

impl Wait {
    /// Returns why a thread does not run, unless it does.
    pub(crate) fn of(history: &History, period: &Period) -> Option<Self> {
        let group = |thread: Option<u64>| thread.map(|thread| history.group(thread));
        let last = || group(period.last);
        match period.state {
            PeriodState::Running => None,
            PeriodState::Woken(by) => {
                Some(Self::Processor { woken_by: history.waker(by), last: last() })
            }
            PeriodState::Preempted(by) => Some(Self::Preempted { by: group(by), last: last() }),
            PeriodState::Blocked(by) => Some(Self::Blocked { woken_by: history.waker(by) }),
        }
    }

    /// Returns its name in reports.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Start => "start",
            Self::Continue => "continue",
            Self::End => "end",
            Self::Receipt => "receipt",
            Self::Wakeup { .. } => "wake-up",
            Self::Blocked { .. } => "blocked",
            Self::Processor { .. } => "processor",
            Self::Preempted { .. } => "preempted",
            Self::OtherCode => "other-code",
        }
    }

    /// Returns the thread that ends a wait, ended one, or got the processor.
    #[must_use]
    pub fn by(&self) -> Option<&Group> {
        match (self, self.waker()) {
            (Self::Preempted { by, .. }, _) => by.as_ref(),
            (_, Some(Waker::Thread(thread))) => Some(thread),
            _ => None,
        }
    }

    /// Returns the thread or the interrupt that ends a wait, or ended one.
    #[must_use]
    pub fn waker(&self) -> Option<&Waker<Group>> {
        match self {
            Self::Wakeup { woken_by, .. }
            | Self::Blocked { woken_by }
            | Self::Processor { woken_by, .. } => woken_by.as_ref(),
            _ => None,
        }
    }

    /// Returns the reason as a JSON object, with the thread that ends the wait or got the
    /// processor, and the one that ran there last.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let thread = |group: &Group| {
            json!({
                "process": exact(group.koids.process),
                "thread": exact(group.koids.thread),
                "thread_name": group.thread_name,
            })
        };
        let mut object = Map::from_iter([
            ("reason".to_owned(), self.as_str().into()),
            ("by".to_owned(), self.by().map(thread).into()),
        ]);
        if let Self::Processor { last, .. } | Self::Preempted { last, .. } = self {
            object.insert("last_by".to_owned(), last.as_ref().map(thread).into());
        }
        object.extend(self.waker().map(|it| it.interrupt_to_json(thread)).unwrap_or_default());
        object.into()
    }
}
