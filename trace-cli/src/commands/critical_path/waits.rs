//! The reasons of waits.

use trace_analyze::critical::{Chosen, Path, Scheduling, Segment, Wait};
use trace_analyze::scheduling::Waker;
use trace_format::ThreadKoids;

use crate::rows::{by_waker, ran_instead};
use crate::table::human_nanos;

/// The line that follows if waits for a processor are missing.
const TOO_LONG: &str = "too many scheduling records to show waits for a processor; cut out a part \
                        of the time with trace slice --from --to\n";

/// The least share of the time that is worth a line, in percent.
const LEAST_SHARE: u64 = 1;

/// Returns what a part of the path does.
pub(super) fn what(part: &Segment) -> String {
    let thread = part.thread.map_or_else(String::new, koids);
    match &part.wait {
        None => format!("runs on thread {thread}"),
        Some(Wait::Unknown) => "waits for an unknown reason".to_owned(),
        Some(Wait::Start) => "waits to start".to_owned(),
        Some(Wait::Continue) => "waits to continue".to_owned(),
        Some(Wait::End) => "waits to end".to_owned(),
        Some(Wait::Receipt) => "waits to be received".to_owned(),
        Some(Wait::Wakeup { thread, woken_by }) => {
            format!(
                "waits until thread {} is woken up{}",
                koids(*thread),
                by_waker(woken_by.as_ref())
            )
        }
        Some(Wait::Blocked { woken_by }) => {
            format!("is blocked on thread {thread} until woken up{}", by_waker(woken_by.as_ref()))
        }
        Some(Wait::Processor { woken_by, last }) => {
            let (by, last) = (by_waker(woken_by.as_ref()), ran_instead(None, last.as_ref()));
            format!("waits for a processor, woken up{by}{last}")
        }
        Some(Wait::Preempted { by, last }) => {
            format!("is preempted{}", ran_instead(by.as_ref(), last.as_ref()))
        }
        Some(Wait::OtherCode) => {
            "waits for an unknown reason, its thread runs other code".to_owned()
        }
    }
}

/// Returns how long the path runs, is preempted, and waits.
pub(super) fn sums(segments: &[Segment], length: u64) -> String {
    let ran = sum(segments, |wait| wait.is_none());
    let preempted = sum(segments, |wait| matches!(wait, Some(Wait::Preempted { .. })));
    let waited = length.saturating_sub(ran).saturating_sub(preempted);
    let preempted = match preempted {
        0 => String::new(),
        nanos => format!("{} preempted + ", human_nanos(nanos)),
    };
    format!("{} running + {preempted}{} waiting", human_nanos(ran), human_nanos(waited))
}

/// Returns lines about waits for unknown reasons and what shows the reasons, if there are any.
pub(super) fn unknown(chosen: &Chosen, path: &Path) -> String {
    let mut text = match path.scheduling {
        Scheduling::TooLong => TOO_LONG.to_owned(),
        _ => String::new(),
    };
    let is_unknown = |wait: Option<&Wait>| {
        let Some(wait) = wait else { return false };
        match wait {
            Wait::Unknown | Wait::OtherCode => true,
            // An interrupt is a timer or a device, and can be for any operation.
            Wait::Wakeup { woken_by, .. } => !matches!(woken_by, Some(Waker::Thread(_))),
            _ => false,
        }
    };
    let unknown = sum(&path.segments, is_unknown);
    let length = chosen.end - chosen.begin;
    if unknown == 0 || unknown < length / 100 * LEAST_SHARE {
        return text;
    }
    let advice = match path.scheduling {
        Scheduling::None => "record with --sched to see which threads end the waits, or trace",
        Scheduling::Switches => {
            "the archive has no wake-ups (`trace doctor` says what they require); trace"
        }
        Scheduling::Complete | Scheduling::TooLong => "trace",
    };
    text.push_str(&format!(
        "unknown: {}; {advice} what it waits for: a future, a span, or a flow from the thread that \
         ends the wait\n",
        human_nanos(unknown)
    ));
    text
}

fn sum(segments: &[Segment], is_counted: impl Fn(Option<&Wait>) -> bool) -> u64 {
    let counted = segments.iter().filter(|part| is_counted(part.wait.as_ref()));
    counted.map(|part| part.to - part.from).sum()
}

fn koids(koids: ThreadKoids) -> String {
    format!("{}/{}", koids.process, koids.thread)
}
