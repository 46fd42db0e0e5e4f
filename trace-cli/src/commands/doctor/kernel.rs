//! Checks of the kernel and of this process's permissions.

use std::fs;

use rustix::fs::{fcntl_add_seals, ftruncate, memfd_create, MemfdFlags, SealFlags};
use rustix::process::{
    getpid, getrlimit, membarrier_query, pidfd_open, MembarrierCommand, PidfdFlags, Resource,
};

use trace_kernel::live::{
    probe, probe_counters, probe_helper, probe_samples, BackendKind, CounterReport, LiveError,
    SampleCounter, SampleSource, Server, DEFAULT_SOCKET,
};

use super::Finding;
use crate::defaults;
use crate::message::describe;

/// The descriptors for a session with many programs.
const MANY_DESCRIPTORS: u64 = 4096;

pub(super) fn findings() -> impl Iterator<Item = Finding> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let server = defaults::of_record("kernel-server").unwrap_or_else(|| DEFAULT_SOCKET.to_owned());
    [
        memory(),
        membarrier(),
        pidfd(),
        clock(
            &read("/proc/cpuinfo"),
            &read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        ),
        descriptors(getrlimit(Resource::Nofile).maximum),
        tracefs(),
        scheduling(&Server::parse(&server)),
        samples(probe_samples()),
        counters(probe_counters()),
    ]
    .into_iter()
    .chain(helper(&server))
}

fn memory() -> Finding {
    let create = || {
        let file = memfd_create("trace-doctor", MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC)?;
        ftruncate(&file, 4096)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)
    };
    match create() {
        Ok(()) => Finding::ok("memory", "sealed memory files can be created"),
        Err(error) => Finding::missing(
            "memory",
            format!("sealed memory files cannot be created: {error}"),
            "no program can be recorded",
            "allow memfd_create(2) and F_ADD_SEALS in the sandbox or container",
        ),
    }
}

fn membarrier() -> Finding {
    let query = membarrier_query();
    match query.contains_command(MembarrierCommand::PrivateExpedited) {
        true => Finding::ok("membarrier", "expedited barriers work"),
        false => Finding::limited(
            "membarrier",
            "the kernel or a sandbox has no expedited barriers",
            "each trace point takes a slower path",
            "use Linux 4.14 or later, and allow membarrier(2) in the sandbox",
        ),
    }
}

fn pidfd() -> Finding {
    match pidfd_open(getpid(), PidfdFlags::empty()) {
        Ok(_) => Finding::ok("pidfd", "the end of processes can be watched"),
        Err(error) => Finding::limited(
            "pidfd",
            format!("processes cannot be watched: {error}"),
            "a program whose children keep its sockets ends late, and kernel events are refused",
            "use Linux 5.3 or later, and allow pidfd_open(2) in the sandbox",
        ),
    }
}

/// Whether ticks are the CPU's counter. `cpuinfo` is that of proc(5).
fn clock(cpuinfo: &str, source: &str) -> Finding {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let has = |flag: &str| flags.split_whitespace().any(|it| it == flag);
    let source = source.trim();
    match (cfg!(target_arch = "x86_64"), has("constant_tsc") && has("nonstop_tsc"), source) {
        (false, ..) => Finding::ok("clock", format!("clock source {source}")),
        (true, true, "tsc") => Finding::ok("clock", "the CPU's counter is invariant"),
        (true, true, _) => Finding::limited(
            "clock",
            format!("the kernel uses {source} instead of the CPU's counter"),
            "the CPU's counters may differ between processors, and times with them",
            "see the kernel's log for the reason: dmesg | grep -i tsc",
        ),
        (true, false, _) => Finding::limited(
            "clock",
            "the CPU's counter is not invariant",
            "timestamps are system calls' clocks, which take longer",
            "in a virtual machine, pass the flag invtsc to it",
        ),
    }
}

fn descriptors(hard: Option<u64>) -> Finding {
    match hard {
        Some(limit) if limit < MANY_DESCRIPTORS => Finding::limited(
            "descriptors",
            format!("at most {limit} file descriptors"),
            "a session has space for about a fifth as many programs",
            format!("ulimit -Hn {MANY_DESCRIPTORS}, or LimitNOFILE= of the service"),
        ),
        Some(limit) => Finding::ok("descriptors", format!("at most {limit} file descriptors")),
        None => Finding::ok("descriptors", "no limit"),
    }
}

/// The counters that can be used.
fn counters((usable, report): (Vec<&'static str>, CounterReport)) -> Finding {
    let subject = "counters";
    let CounterReport { user_only, absent, refused } = report;
    let remedy = |error: &LiveError| error.remedy().unwrap_or_else(|| "run as root".to_owned());
    let first = refused.first();
    if usable.is_empty() {
        let reason = first.map_or_else(|| "there are none".to_owned(), |error| describe(error));
        let remedy = first.map_or_else(|| "run as root".to_owned(), remedy);
        return Finding::limited(
            subject,
            reason,
            "no page faults, context switches, cycles",
            remedy,
        );
    }
    let mut detail = usable.join(", ");
    if !absent.is_empty() {
        detail += &format!("; this machine has no {}", absent.join(", "));
    }
    if !user_only.is_empty() {
        detail += &format!("; {} of user mode only", user_only.join(", "));
    }
    match first {
        None if user_only.is_empty() => Finding::ok(subject, detail),
        None => Finding::limited(
            subject,
            detail,
            "counts of user mode only",
            "run as root, or: sudo sysctl kernel.perf_event_paranoid=1",
        ),
        Some(error) => Finding::limited(
            subject,
            format!("{detail}; {}", describe(error)),
            "none of the other counters",
            remedy(error),
        ),
    }
}

fn tracefs() -> Finding {
    match trace_kernel::live::check() {
        Ok(place) => Finding::ok("tracefs", format!("{} is writable", place.display())),
        Err(error) => Finding::limited(
            "tracefs",
            describe(&error),
            "no wake-ups, system calls and other events of the kernel",
            error.remedy().unwrap_or_else(|| "run as root".to_owned()),
        ),
    }
}

/// The source of wake-ups for users without permission for tracefs.
fn helper(server: &str) -> Option<Finding> {
    let subject = "kernel server";
    if trace_kernel::live::check().is_ok() {
        return None;
    }
    Some(match probe_helper(&Server::parse(server)) {
        Ok(()) => Finding::ok(subject, server),
        Err(error) => Finding::limited(
            subject,
            describe(&error),
            "no wake-ups and migrations without root",
            error.remedy().unwrap_or_else(|| "record as root".to_owned()),
        ),
    })
}

/// The source of context switches.
fn scheduling(server: &Server) -> Finding {
    let (kind, refused) = probe(server);
    let subject = "scheduling";
    let Some(kind) = kind else {
        return Finding::limited(
            subject,
            "cannot be recorded",
            "no context switches",
            refused.iter().filter_map(LiveError::remedy).next_back().unwrap_or_default(),
        );
    };
    let detail = match kind.missing() {
        "" => kind.as_str().to_owned(),
        missing => format!("{}: {missing}", kind.as_str()),
    };
    match (kind, refused.last()) {
        (
            BackendKind::Tracefs
            | BackendKind::Helper
            | BackendKind::Tracepoints
            | BackendKind::PerfCpus,
            _,
        )
        | (_, None) => Finding::ok(subject, detail),
        (_, Some(better)) => Finding::limited(
            subject,
            format!("{detail}; {}", describe(better)),
            "no complete picture of each CPU",
            better.remedy().unwrap_or_else(|| "run as root".to_owned()),
        ),
    }
}

/// The source of samples of call stacks.
fn samples(source: Result<SampleSource, LiveError>) -> Finding {
    let subject = "samples";
    let source = match source {
        Ok(source) => source,
        Err(error) => {
            let remedy = error.remedy().unwrap_or_else(|| "run as root".to_owned());
            return Finding::limited(subject, describe(&error), "no samples of stacks", remedy);
        }
    };
    let detail = match source.counter {
        SampleCounter::Cycles => "by the CPU's cycles",
        SampleCounter::CpuClock => "by a timer: this machine has no counter of CPU cycles",
        SampleCounter::Selected(counter) => counter.name(),
    };
    match source.has_kernel {
        true => Finding::ok(subject, detail),
        false => Finding::limited(
            subject,
            format!("{detail}; perf_event_paranoid excludes the kernel"),
            "no samples of the time in the kernel",
            "run as root, or: sudo sysctl kernel.perf_event_paranoid=1",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Status;
    use super::*;

    #[test]
    fn counters_that_are_missing_have_a_remedy() {
        let report = || CounterReport { absent: vec!["cycles"], ..CounterReport::default() };
        let found = counters((vec!["page-faults"], report()));
        assert_eq!(found.status, Status::Ok);
        let user_only = CounterReport { user_only: vec!["page-faults"], ..report() };
        assert_eq!(counters((vec!["page-faults"], user_only)).status, Status::Limited);
        let refused = || vec![LiveError::NoHardware("cycles")];
        let some = CounterReport { refused: refused(), ..report() };
        assert_eq!(counters((vec!["page-faults"], some)).status, Status::Limited);
        let both = CounterReport { refused: refused(), user_only: vec!["x"], ..report() };
        let found = counters((vec!["page-faults"], both));
        assert!(found.detail.contains("x of user mode only"), "{}", found.detail);
        let all = CounterReport { refused: refused(), ..report() };
        assert_eq!(counters((Vec::new(), all)).status, Status::Limited);
        assert_eq!(counters((Vec::new(), report())).status, Status::Limited);
    }

    #[test]
    fn samples_of_the_kernel_need_a_permission() {
        let counter = SampleCounter::CpuClock;
        let status = |has_kernel| {
            samples(Ok(SampleSource { counter, has_kernel, has_branches: false })).status
        };
        assert_eq!((status(true), status(false)), (Status::Ok, Status::Limited));
        let denied = std::io::Error::from_raw_os_error(1);
        let error = LiveError::Samples(trace_kernel::live::PerfScope::Threads, denied);
        assert_eq!(samples(Err(error)).status, Status::Limited);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_counter_must_be_invariant_and_used() {
        let flags = "processor : 0\nflags : fpu constant_tsc nonstop_tsc\n";
        assert_eq!(clock(flags, "tsc\n").status, Status::Ok);
        assert_eq!(clock(flags, "hpet\n").status, Status::Limited);
        assert_eq!(clock("flags : fpu constant_tsc\n", "tsc\n").status, Status::Limited);
        assert_eq!(clock("", "").status, Status::Limited);
    }

    #[test]
    fn few_descriptors_limit_the_programs() {
        assert_eq!(descriptors(None).status, Status::Ok);
        assert_eq!(descriptors(Some(4096)).status, Status::Ok);
        assert_eq!(descriptors(Some(1024)).status, Status::Limited);
    }

    #[test]
    fn this_machine_has_sealed_memory() {
        assert_eq!(memory().status, Status::Ok, "the other tests need it, too");
    }
}
