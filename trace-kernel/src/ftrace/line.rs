//! The common columns of ftrace's events.

use crate::event::Context;

/// The maximum number of brackets that are tried as the start of the CPU: the name of a task may
/// have brackets, too.
const MAX_BRACKETS: usize = 32;

/// The names of events from `trace_marker`; the last one in old kernels.
const MARKERS: [&str; 3] = ["tracing_mark_write", "print", "0"];

/// A line with an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The name of the thread.
    pub(super) task: &'a str,
    /// The thread, which ftrace calls PID.
    pub(super) thread: u64,
    /// Its process, which ftrace calls TGID.
    pub(super) process: Option<u64>,
    pub(super) cpu: u16,
    pub(super) context: Context,
    pub(super) nanos: u64,
    pub(super) event: &'a str,
    pub(super) details: &'a str,
}

impl<'a> Line<'a> {
    /// Parses a line; returns `None` if it has no event.
    pub(super) fn parse(line: &'a str) -> Option<Self> {
        if line.starts_with('#') {
            return None;
        }
        line.match_indices('[').take(MAX_BRACKETS).find_map(|(place, _)| {
            let (before, rest) = (line.get(..place)?, line.get(place + 1..)?);
            let (cpu, rest) = rest.split_once(']')?;
            Self::after_task(task(before)?, cpu.parse().ok()?, rest)
        })
    }

    /// Returns the text that was written to `trace_marker`.
    pub(super) fn marker(&self) -> Option<&'a str> {
        MARKERS.contains(&self.event).then_some(self.details)
    }

    fn after_task(
        (task, thread, process): (&'a str, u64, Option<u64>),
        cpu: u16,
        rest: &'a str,
    ) -> Option<Self> {
        let rest = rest.trim_start();
        let (first, after) = rest.split_once(' ')?;
        // Four or five characters for flags, which old kernels do not print.
        let (flags, (time, rest)) = match first.strip_suffix(':') {
            Some(time) => ("", (time, after)),
            None => (first, after.trim_start().split_once(": ")?),
        };
        let (event, details) = rest.trim_start().split_once(':')?;
        let nanos = nanos(time)?;
        let (context, details) = (Context::of_letters(flags), details.trim());
        Some(Self { task, thread, process, cpu, context, nanos, event, details })
    }
}

/// Parses `NAME-PID (TGID)`.
fn task(before: &str) -> Option<(&str, u64, Option<u64>)> {
    let before = before.trim_end();
    let (task, process) = match before.strip_suffix(')').and_then(|rest| rest.rsplit_once('(')) {
        Some((task, process)) => (task.trim_end(), process.trim().parse().ok()),
        None => (before, None),
    };
    let (name, thread) = task.rsplit_once('-')?;
    let name = name.trim_start();
    // The process may also follow without brackets.
    match thread.split_once(' ') {
        None => Some((name, thread.parse().ok()?, process)),
        Some((thread, group)) => {
            Some((name, thread.parse().ok()?, Some(group.trim().parse().ok()?)))
        }
    }
}

/// Returns seconds with a fraction in nanoseconds, rounded down. A time without a fraction is not
/// in seconds.
fn nanos(seconds: &str) -> Option<u64> {
    let (whole, fraction) = seconds.split_once('.')?;
    let is_number = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
    if fraction.is_empty() || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let digits = fraction.bytes().chain(std::iter::repeat(b'0')).take(9);
    let part = digits.fold(0, |part, digit| 10 * part + u64::from(digit - b'0'));
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(part)
}

/// Returns seconds with or without a fraction in nanoseconds.
pub(super) fn seconds(text: &str) -> Option<u64> {
    match text.contains('.') {
        true => nanos(text),
        false => text.parse::<u64>().ok()?.checked_mul(1_000_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout() {
        let line = |task, thread, process, cpu, nanos, event| {
            let (context, details) = (Context::Thread, "x: y");
            Some(Line { task, thread, process, cpu, context, nanos, event, details })
        };
        let cases = [
            (
                "   <idle>-0     [001]  4467.843475: sched_switch: x: y",
                line("<idle>", 0, None, 1, 4_467_843_475_000, "sched_switch"),
            ),
            (
                "Binder-Thread #-647   [001]   260.464294: a: x: y",
                line("Binder-Thread #", 647, None, 1, 260_464_294_000, "a"),
            ),
            (
                "     systrace.sh-5441  [001] d...  1031.091570: a: x: y",
                line("systrace.sh", 5441, None, 1, 1_031_091_570_000, "a"),
            ),
            (
                "  bash-1977    [000] d..2. 17284.993652: a: x: y",
                line("bash", 1977, None, 0, 17_284_993_652_000, "a"),
            ),
            (
                "  s.sh-5441  (54321) [001] d...  1031.091570: a: x: y",
                line("s.sh", 5441, Some(54321), 1, 1_031_091_570_000, "a"),
            ),
            (
                "  s.sh-5441  (  321) [001] d...  1031.091570: a: x: y",
                line("s.sh", 5441, Some(321), 1, 1_031_091_570_000, "a"),
            ),
            (
                "  s.sh-5441  (-----) [001] d...  1031.091570: a: x: y",
                line("s.sh", 5441, None, 1, 1_031_091_570_000, "a"),
            ),
            (
                "  <idle>-0    0 [001] d...  1.23: a: x: y",
                line("<idle>", 0, Some(0), 1, 1_230_000_000, "a"),
            ),
            (
                "a [1] (b) -7-8 (7) [015] .... 0.000000001: 0: x: y\r",
                line("a [1] (b) -7", 8, Some(7), 15, 1, "0"),
            ),
            ("a-8 [0] .... 0.1234567899: a:x: y", line("a", 8, None, 0, 123_456_789, "a")),
        ];
        for (text, expected) in cases {
            assert_eq!(Line::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn contexts() {
        let cases = [
            ("", Context::Thread),
            (" ....", Context::Thread),
            (" d..2.", Context::Thread),
            (" dNb2.", Context::Thread),
            (" d.h2.", Context::HardInterrupt),
            (" dNH.", Context::HardInterrupt),
            (" d.z..", Context::HardInterrupt),
            (" d.Z..", Context::HardInterrupt),
            (" ..s1.", Context::SoftInterrupt),
            (" h", Context::Thread),
        ];
        for (flags, context) in cases {
            let text = format!("a-1 [002]{flags} 1.0: a: b");
            assert_eq!(Line::parse(&text).map(|line| line.context), Some(context), "{text}");
        }
    }

    #[test]
    fn brackets_in_names() {
        let line = |brackets| format!("{}-1 [002] .... 1.0: a: b", "[0]".repeat(brackets));
        assert_eq!(Line::parse(&line(MAX_BRACKETS - 1)).map(|line| line.cpu), Some(2));
        assert_eq!(Line::parse(&line(MAX_BRACKETS)), None);
    }

    #[test]
    fn lines_without_an_event() {
        let lines = [
            "",
            "#",
            "# a-1 [000] .... 1.0: a: b",
            "CPU:1 [LOST 25 EVENTS]",
            "SystemTraceData",
            "a-1 [000] .... 1.0: a",
            "a-1 [000] .... 12: a: b",
            "a-1 [000] .... 1.: a: b",
            "a-1 [000] .... 1.-5: a: b",
            "a-1 [000] .... 99999999999.0: a: b",
            "a-1 [70000] .... 1.0: a: b",
            "a [000] .... 1.0: a: b",
            "a-1x [000] .... 1.0: a: b",
            "a-1 [000",
            "a-1 [000]",
            "a-1 [000] ",
        ];
        for line in lines {
            assert_eq!(Line::parse(line), None, "{line}");
        }
    }
}
