//! Reasons why the kernel cannot be traced.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use trace_provider::NotTraced;

use super::perf::counters::known::{self, is_missing, Known};
use super::served::address::Server;
use super::uprobes::ProbeError;
use crate::format::FormatError;

/// This directory exists if systemd runs.
const SYSTEMD: &str = "/run/systemd/system";

/// The threads of perf events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerfScope {
    /// All threads.
    Machine,
    /// Some threads and their descendants.
    Threads,
    /// The threads of a control group.
    Cgroup,
}

impl PerfScope {
    /// The highest value of `kernel.perf_event_paranoid` that permits it without a capability.
    fn level(self) -> i32 {
        match self {
            Self::Machine | Self::Cgroup => 0,
            Self::Threads => 2,
        }
    }
}

/// Why the kernel cannot be traced.
#[derive(Debug)]
pub enum LiveError {
    /// The file system tracefs is not mounted.
    NoTracefs,
    /// This user may not use tracefs.
    Denied(PathBuf),
    /// The kernel has no such event: `SYSTEM/NAME`.
    NoEvent(String),
    /// The kernel has none of the events of a category.
    NoEvents(String),
    /// A file of tracefs cannot be read or written.
    File(PathBuf, io::Error),
    /// A file of tracefs has an unknown format.
    Format(PathBuf, FormatError),
    /// There is no privileged helper.
    NoServer(Server),
    /// The privileged helper records only threads by their ids.
    ServerScope,
    /// The ids of tracepoints cannot be read.
    NoTracepoints(Box<LiveError>),
    /// Tracepoints are not selected by a control group.
    TracepointScope,
    /// The privileged helper cannot be used.
    Server(io::Error),
    /// The privileged helper records for this user as often as it may.
    TooMany {
        /// How often it may.
        limit: usize,
    },
    /// The privileged helper refuses.
    Refused(String),
    /// A function has no events.
    Probe(ProbeError),
    /// A control group cannot be used.
    Cgroup(PathBuf, io::Error),
    /// The threads of a control group cannot be read.
    CgroupThreads(io::Error),
    /// The kernel selects threads by other ids than this pid namespace has.
    PidNamespace,
    /// `perf_event_open(2)` failed, for the events of whole CPUs or of threads.
    Perf(PerfScope, io::Error),
    /// `perf_event_open(2)` failed for samples.
    Samples(PerfScope, io::Error),
    /// The kernel permits fewer samples a second: `kernel.perf_event_max_sample_rate`.
    SampleRate {
        /// The requested number.
        frequency: u64,
        /// The highest number.
        limit: u64,
    },
    /// There is no counter of this name.
    NoCounter(String),
    /// The CPUs of this machine do not have this counter.
    NoHardware(&'static str),
    /// `perf_event_open(2)` failed for a counter.
    Counter {
        /// Its name.
        name: &'static str,
        /// Whether it counts only in the kernel.
        is_of_kernel: bool,
        /// Its threads.
        scope: PerfScope,
        /// The error.
        error: io::Error,
    },
    /// The kernel does not count the times of threads in `/proc/PID/schedstat`.
    NoSchedstat,
    /// The process cannot be a provider.
    Provider(NotTraced),
    /// The system has no threads.
    Thread(io::Error),
}

/// Checks that the kernel permits so many samples a second, as far as it reports that.
///
/// # Errors
///
/// [`LiveError::SampleRate`].
pub fn check_sample_rate(frequency: u64) -> Result<(), LiveError> {
    check_rate(frequency, sample_limit())
}

fn check_rate(frequency: u64, limit: Option<u64>) -> Result<(), LiveError> {
    match limit {
        Some(limit) if frequency > limit => Err(LiveError::SampleRate { frequency, limit }),
        _ => Ok(()),
    }
}

/// Returns the most samples a second that the kernel permits.
fn sample_limit() -> Option<u64> {
    let limit = fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate");
    limit.ok().and_then(|limit| limit.trim().parse().ok())
}

impl LiveError {
    /// Returns the error of a file of tracefs.
    pub(super) fn file(path: impl Into<PathBuf>, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::Denied(path.into()),
            _ => Self::File(path.into(), error),
        }
    }

    /// Returns the error of the event of samples with this frequency in Hz.
    pub(super) fn samples(scope: PerfScope, error: io::Error, frequency: u64) -> Self {
        Self::samples_with(scope, error, frequency, sample_limit())
    }

    /// Returns the error of samples by a counter with this frequency in Hz; 0 for a period.
    pub(super) fn samples_by(
        known: &'static Known,
        scope: PerfScope,
        error: io::Error,
        frequency: u64,
    ) -> Self {
        match Self::samples(scope, error, frequency) {
            Self::Samples(_, error) if known.is_hardware() && is_missing(&error) => {
                Self::NoHardware(known.name)
            }
            error => error,
        }
    }

    /// The kernel refuses a frequency beyond `limit` with `EINVAL`.
    fn samples_with(
        scope: PerfScope,
        error: io::Error,
        frequency: u64,
        limit: Option<u64>,
    ) -> Self {
        match (Errno::from_io_error(&error), limit) {
            (Some(Errno::INVAL), Some(limit)) if frequency > limit => {
                Self::SampleRate { frequency, limit }
            }
            _ => Self::Samples(scope, error),
        }
    }

    /// Returns whether this process may not use tracefs, while others may.
    pub(super) fn is_of_permission(&self) -> bool {
        matches!(self, Self::NoTracefs | Self::Denied(_) | Self::PidNamespace)
    }

    /// Returns what the user can do, as a command or a sentence.
    #[must_use]
    pub fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::NoTracefs => {
                "as root, run: mount -t tracefs nodev /sys/kernel/tracing; containers need it \
                 from their host"
                    .to_owned()
            }
            Self::Denied(_) => "record as root: tracefs is for root only".to_owned(),
            Self::NoEvent(_) | Self::NoEvents(_) => {
                "the kernel's events are in /sys/kernel/tracing/available_events".to_owned()
            }
            Self::PidNamespace => {
                "use --kernel-scope machine, or record outside of the container".to_owned()
            }
            Self::Perf(scope, error) | Self::Samples(scope, error) => {
                return perf_remedy(scope.level(), error)
            }
            Self::NoCounter(_) => format!("the counters are {}", known::names().join(", ")),
            Self::NoHardware(_) => {
                "virtual machines often have no counters of the CPU; page-faults and \
                 context-switches are counted by the kernel"
                    .to_owned()
            }
            Self::Counter { is_of_kernel, scope, error, .. } => {
                let level = if *is_of_kernel { scope.level().min(1) } else { scope.level() };
                return perf_remedy(level, error);
            }
            Self::SampleRate { frequency, limit } => format!(
                "use --samples={limit}; or as root, run: sysctl \
                 kernel.perf_event_max_sample_rate={frequency}"
            ),
            Self::NoTracepoints(error) if matches!(**error, Self::Denied(_)) => {
                "for users with CAP_PERFMON, as root, run: mount -o remount,gid=GROUP,mode=750 \
                 /sys/kernel/tracing"
                    .to_owned()
            }
            Self::NoTracepoints(error) => return error.remedy(),
            Self::NoServer(_) => server_remedy(Path::new(SYSTEMD).exists()).to_owned(),
            Self::Probe(error) => return error.fault.remedy(),
            Self::NoSchedstat => "use a kernel with CONFIG_SCHED_INFO".to_owned(),
            _ => return None,
        })
    }
}

/// Returns what starts the privileged helper.
fn server_remedy(has_systemd: bool) -> &'static str {
    match has_systemd {
        true => {
            "as root, run: systemctl enable --now trace-kernel.socket; or use --kernel-server 'sudo \
             -n trace kernel-server'"
        }
        false => {
            "if sudo may run the helper without a password, use --kernel-server 'sudo -n trace \
             kernel-server'"
        }
    }
}

/// Returns what permits perf events that require this value of `kernel.perf_event_paranoid`.
fn perf_remedy(required: i32, error: &io::Error) -> Option<String> {
    let level = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    let level = level.ok().and_then(|level| level.trim().parse().ok());
    perf_remedy_for(required, Errno::from_io_error(error)?, level)
}

/// `level` is `kernel.perf_event_paranoid`.
///
/// The kernel refuses a level with `EACCES`; a filter of system calls usually with `EPERM`.
fn perf_remedy_for(required: i32, error: Errno, level: Option<i32>) -> Option<String> {
    Some(match (error, level) {
        (_, None) => "use a kernel with CONFIG_PERF_EVENTS".to_owned(),
        (Errno::ACCESS, Some(level)) if level > required => format!(
            "as root, run: sysctl kernel.perf_event_paranoid={required}; or record with CAP_PERFMON"
        ),
        (Errno::ACCESS, _) => "record as the user of the processes, or as root".to_owned(),
        (Errno::PERM | Errno::NOSYS, _) => {
            "allow perf_event_open(2) in the sandbox or container".to_owned()
        }
        (Errno::MFILE, _) => "allow more file descriptors: ulimit -n 65536".to_owned(),
        _ => return None,
    })
}

impl fmt::Display for LiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTracefs => write!(f, "cannot trace the kernel: tracefs is not mounted"),
            Self::Denied(path) => {
                write!(f, "cannot trace the kernel: {}: permission denied", path.display())
            }
            Self::NoEvent(event) => write!(f, "the kernel has no event {event}"),
            Self::NoEvents(category) => {
                write!(f, "the kernel has no events of the category {category}")
            }
            Self::File(path, _) | Self::Format(path, _) => {
                write!(f, "cannot trace the kernel: {}", path.display())
            }
            Self::PidNamespace => write!(
                f,
                "cannot trace the kernel: this pid namespace has other thread ids than the kernel"
            ),
            Self::NoTracepoints(error) => write!(f, "cannot use perf tracepoints: {error}"),
            Self::TracepointScope => {
                write!(f, "perf tracepoints cannot select the threads of a control group")
            }
            Self::NoServer(Server::Socket(path)) => {
                write!(f, "there is no privileged helper at {}", path.display())
            }
            Self::NoServer(Server::Command(_)) => write!(f, "there is no privileged helper"),
            Self::ServerScope => {
                write!(f, "the privileged helper records only the threads of the user's processes")
            }
            Self::TooMany { limit } => {
                write!(f, "a user may have at most {limit} recordings at a time")
            }
            Self::Server(_) => write!(f, "cannot use the privileged helper"),
            Self::Refused(reason) => write!(f, "the privileged helper refuses: {reason}"),
            Self::Probe(error) => write!(f, "{error}"),
            Self::Cgroup(path, _) => {
                write!(f, "cannot use the control group {}", path.display())
            }
            Self::CgroupThreads(_) => write!(f, "cannot read the threads of the control group"),
            Self::Perf(PerfScope::Cgroup, _) => {
                write!(f, "cannot trace the control group: perf_event_open failed")
            }
            Self::Samples(PerfScope::Cgroup, _) => {
                write!(f, "cannot sample the control group: perf_event_open failed")
            }
            Self::Perf(PerfScope::Machine, _) => {
                write!(f, "cannot trace all threads: perf_event_open failed")
            }
            Self::Perf(PerfScope::Threads, _) => {
                write!(f, "cannot trace the command's threads: perf_event_open failed")
            }
            Self::Samples(PerfScope::Machine, _) => {
                write!(f, "cannot sample all threads: perf_event_open failed")
            }
            Self::Samples(PerfScope::Threads, _) => {
                write!(f, "cannot sample the command's threads: perf_event_open failed")
            }
            Self::SampleRate { frequency, limit } => write!(
                f,
                "cannot take {frequency} samples a second: the kernel permits at most {limit}"
            ),
            Self::NoCounter(name) => write!(f, "there is no counter {name}"),
            Self::NoHardware(name) => write!(f, "this machine has no counter {name}"),
            Self::Counter { name, .. } => {
                write!(f, "cannot count {name}: perf_event_open failed")
            }
            Self::NoSchedstat => {
                write!(f, "cannot sample threads: /proc/self/schedstat cannot be read")
            }
            Self::Provider(_) | Self::Thread(_) => write!(f, "cannot trace the kernel"),
        }
    }
}

impl std::error::Error for LiveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File(_, error)
            | Self::Server(error)
            | Self::Cgroup(_, error)
            | Self::CgroupThreads(error)
            | Self::Perf(_, error)
            | Self::Samples(_, error)
            | Self::Counter { error, .. }
            | Self::Thread(error) => Some(error),
            Self::Format(_, error) => Some(error),
            Self::NoTracepoints(error) => error.source(),
            Self::Provider(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_samples_is_named() {
        let failed = |error: Errno, frequency, limit| {
            LiveError::samples_with(PerfScope::Threads, error.into(), frequency, limit)
        };
        let error = failed(Errno::INVAL, 200_000, Some(100_000));
        assert!(error.to_string().ends_with("at most 100000"), "{error}");
        assert!(error.remedy().unwrap().starts_with("use --samples=100000; "));
        for (errno, frequency, limit) in [
            (Errno::INVAL, 1000, Some(100_000)),
            (Errno::INVAL, 200_000, None),
            (Errno::ACCESS, 200_000, Some(100_000)),
        ] {
            assert!(matches!(failed(errno, frequency, limit), LiveError::Samples(..)));
        }
    }

    #[test]
    fn remedies_for_perf_events() {
        for (scope, error, level, expected) in [
            (PerfScope::Threads, Errno::ACCESS, Some(3), "perf_event_paranoid=2"),
            (PerfScope::Machine, Errno::ACCESS, Some(2), "perf_event_paranoid=0"),
            (PerfScope::Threads, Errno::ACCESS, Some(2), "as root"),
            (PerfScope::Threads, Errno::PERM, Some(2), "sandbox"),
            (PerfScope::Machine, Errno::NOSYS, Some(2), "sandbox"),
            (PerfScope::Threads, Errno::NOENT, None, "CONFIG_PERF_EVENTS"),
            (PerfScope::Threads, Errno::NOENT, Some(2), ""),
        ] {
            let remedy = perf_remedy_for(scope.level(), error, level).unwrap_or_default();
            assert!(remedy.contains(expected), "{expected}: {remedy}");
            assert_eq!(remedy.is_empty(), expected.is_empty());
        }
    }
}
