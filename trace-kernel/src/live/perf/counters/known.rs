//! The counters, by their names in perf(1).

use std::io;

use crate::live::categories::COUNTER_PREFIX;

/// `PERF_TYPE_HARDWARE` and `PERF_TYPE_SOFTWARE`.
const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;

/// A counter of perf events.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::live) struct Known {
    pub(in crate::live) name: &'static str,
    pub(in crate::live) kind: u32,
    pub(in crate::live) config: u64,
    pub(in crate::live) kernel: KernelPart,
}

/// What a counter counts without permission to observe the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::live) enum KernelPart {
    /// The same.
    Counted,
    /// Only what happens in user mode.
    Separate,
    /// Nothing: what it counts happens in the kernel.
    Only,
}

/// All counters.
pub(in crate::live) const KNOWN: &[Known] = &[
    software("task-clock", 1, KernelPart::Counted),
    software("page-faults", 2, KernelPart::Separate),
    software("minor-faults", 5, KernelPart::Separate),
    software("major-faults", 6, KernelPart::Separate),
    software("context-switches", 3, KernelPart::Only),
    software("cpu-migrations", 4, KernelPart::Only),
    hardware("cycles", 0),
    hardware("instructions", 1),
    hardware("cache-references", 2),
    hardware("cache-misses", 3),
    hardware("branches", 4),
    hardware("branch-misses", 5),
    hardware("bus-cycles", 6),
    hardware("stalled-cycles-frontend", 7),
    hardware("stalled-cycles-backend", 8),
    hardware("ref-cycles", 9),
];

/// Returns the names of all counters.
pub(in crate::live) fn names() -> Vec<&'static str> {
    KNOWN.iter().map(|known| known.name).collect()
}

/// Returns whether the CPUs of this machine lack a counter.
pub(in crate::live) fn is_missing(error: &io::Error) -> bool {
    let missing = [libc::ENOENT, libc::EOPNOTSUPP, libc::EINVAL];
    error.raw_os_error().is_some_and(|code| missing.contains(&code))
}

const fn software(name: &'static str, config: u64, kernel: KernelPart) -> Known {
    Known { name, kind: SOFTWARE, config, kernel }
}

const fn hardware(name: &'static str, config: u64) -> Known {
    Known { name, kind: HARDWARE, config, kernel: KernelPart::Separate }
}

impl Known {
    pub(in crate::live) fn is_hardware(&self) -> bool {
        self.kind == HARDWARE
    }

    pub(super) fn category(&self) -> String {
        format!("{COUNTER_PREFIX}{}", self.name)
    }

    /// Returns the name of the value: its unit.
    pub(super) fn unit(&self) -> &'static str {
        match self.name {
            "task-clock" => "ns",
            _ => "count",
        }
    }
}
