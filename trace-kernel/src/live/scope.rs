//! The threads whose events are recorded.

use std::sync::Arc;

use super::cgroup::Cgroup;
use super::error::{LiveError, PerfScope};
use super::perf::sys::Target;

/// The threads whose events are recorded.
#[derive(Clone, Debug)]
pub enum Scope {
    /// All threads.
    Machine,
    /// These threads, with the threads and processes that they start from now on.
    Threads(Vec<u64>),
    /// The threads in a control group.
    Cgroup(Arc<Cgroup>),
}

impl Scope {
    /// Returns the threads that are in it now; none for the machine.
    pub(super) fn threads(&self) -> Result<Vec<u64>, LiveError> {
        match self {
            Self::Machine => Ok(Vec::new()),
            Self::Threads(threads) => Ok(threads.clone()),
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
            Self::Cgroup(cgroup) => vec![Target::Cgroup(cgroup.descriptor())],
        }
    }

    /// Returns what perf events of it require.
    pub(super) fn of_perf(&self) -> PerfScope {
        match self {
            Self::Machine => PerfScope::Machine,
            Self::Threads(_) => PerfScope::Threads,
            Self::Cgroup(_) => PerfScope::Cgroup,
        }
    }
}
