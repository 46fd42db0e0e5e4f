//! The reasons of waits.

use trace_format::ThreadKoids;

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
    },
    /// The thread could continue, but has lost its processor.
    Preempted {
        /// The thread that got the processor, or `None` if it is unknown.
        by: Option<Group>,
    },
    /// The archive does not show it. The thread that runs next for the operation runs other code.
    OtherCode,
}

impl Wait {
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
            (Self::Preempted { by }, _) => by.as_ref(),
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
            | Self::Processor { woken_by } => woken_by.as_ref(),
            _ => None,
        }
    }
}
