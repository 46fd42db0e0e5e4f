//! The threads whose events are recorded.

use std::sync::Arc;

use super::cgroup::Cgroup;
use super::error::{LiveError, PerfScope};
use super::perf::sys::Target;
use crate::fxt::Translator;

/// The threads whose events are recorded.
#[derive(Clone, Debug)]
pub enum Scope {
    /// All threads.
    Machine,
    /// These threads, with the threads and processes that they start from now on.
    Threads(Vec<u64>),
    /// The command that this thread starts: the threads and processes that it starts from now on,
    /// without the thread itself.
    Command(u64),
    /// The threads in a control group.
    Cgroup(Arc<Cgroup>),
}

impl Scope {
    /// Returns the threads that are in it now, and the one that starts the command; none for the
    /// machine.
    pub(super) fn threads(&self) -> Result<Vec<u64>, LiveError> {
        match self {
            Self::Machine => Ok(Vec::new()),
            Self::Threads(threads) => Ok(threads.clone()),
            Self::Command(starter) => Ok(vec![*starter]),
            Self::Cgroup(cgroup) => {
                let threads = cgroup.threads();
                Ok(threads.map_err(LiveError::CgroupThreads)?.into_iter().collect())
            }
        }
    }

    /// Returns the targets of perf events on each CPU.
    pub(super) fn targets(&self) -> Vec<Target> {
        match self {
            Self::Machine => vec![Target::Cpu],
            Self::Threads(threads) => threads.iter().copied().map(Target::Thread).collect(),
            Self::Command(starter) => vec![Target::Thread(*starter)],
            Self::Cgroup(cgroup) => vec![Target::Cgroup(cgroup.descriptor())],
        }
    }

    /// Returns what perf events of it require.
    pub(super) fn of_perf(&self) -> PerfScope {
        match self {
            Self::Machine => PerfScope::Machine,
            Self::Threads(_) | Self::Command(_) => PerfScope::Threads,
            Self::Cgroup(_) => PerfScope::Cgroup,
        }
    }
}

/// The scope of records.
#[derive(Debug)]
pub(super) enum Limit {
    None,
    /// These threads, and those that they create.
    Threads(Vec<u64>),
    /// The threads that this one creates.
    Command(u64),
}

impl Limit {
    /// Returns the limit of a scope by the threads that are in it now.
    pub(super) fn of(scope: &Scope) -> Result<Self, LiveError> {
        Ok(match scope {
            Scope::Machine => Self::None,
            Scope::Command(starter) => Self::Command(*starter),
            Scope::Threads(_) | Scope::Cgroup(_) => Self::Threads(scope.threads()?),
        })
    }

    pub(super) fn apply(&self, translator: &mut Translator) {
        match self {
            Self::None => {}
            Self::Threads(threads) => translator.limit(threads.iter().copied()),
            Self::Command(starter) => translator.limit_to_command(*starter),
        }
    }
}
