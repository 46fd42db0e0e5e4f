//! The offset between ftrace's clock and the document's clock.

use super::line::{seconds, Line};

/// The offset of the document's clock from ftrace's clock, in nanoseconds.
///
/// Markers in the text set it. `name=ID` is the time of the document's event `clock_sync` with this
/// id. `parent_ts=SECONDS` is the time of the document's clock, or 0 if both clocks are the same.
/// Without markers the offset is 0. The first marker of a kind is used, as in Trace Viewer.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Clock {
    by_id: Option<i128>,
    by_time: Option<i128>,
}

impl Clock {
    /// Reads a line, which may be a marker. `time_of` returns the time of the document's event with
    /// an id, in nanoseconds.
    pub(super) fn note(&mut self, line: &Line<'_>, time_of: impl Fn(&str) -> Option<u64>) {
        let Some((_, sync)) =
            line.marker().unwrap_or_default().split_once("trace_event_clock_sync: ")
        else {
            return;
        };
        let offset = |time: u64| i128::from(time) - i128::from(line.nanos);
        let value = |key| sync.strip_prefix(key).and_then(|rest| rest.split_whitespace().next());
        if let Some(time) = value("name=").and_then(time_of) {
            self.by_id.get_or_insert(offset(time));
        }
        if let Some(time) = value("parent_ts=").and_then(seconds) {
            self.by_time.get_or_insert(if time == 0 { 0 } else { offset(time) });
        }
    }

    /// Returns a time in the document, plus `shift` nanoseconds; `None` if it is negative.
    pub(super) fn time(self, nanos: u64, shift: u64) -> Option<u64> {
        let offset = self.by_id.or(self.by_time).unwrap_or(0);
        u64::try_from(i128::from(nanos) + offset + i128::from(shift)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Context;

    /// Returns the document's time at 10 seconds, with these markers at 5 seconds.
    fn time(markers: &[&str]) -> Option<u64> {
        let mut clock = Clock::default();
        for details in markers {
            let (task, thread, process, cpu, nanos) = ("a", 1, None, 0, 5_000_000_000);
            let (context, event) = (Context::Thread, "tracing_mark_write");
            let line = Line { task, thread, process, cpu, context, nanos, event, details };
            clock.note(&line, |id| (id == "guid1").then_some(123_000));
        }
        clock.time(10_000_000_000, 0)
    }

    #[test]
    fn markers_set_the_offset() {
        let cases: [(&[&str], Option<u64>); 10] = [
            (&[], Some(10_000_000_000)),
            (&["trace_event_clock_sync: parent_ts=0"], Some(10_000_000_000)),
            (&["trace_event_clock_sync: parent_ts=4.5"], Some(9_500_000_000)),
            (&["trace_event_clock_sync: parent_ts=7"], Some(12_000_000_000)),
            (
                &["trace_event_clock_sync: parent_ts=7", "trace_event_clock_sync: parent_ts=8"],
                Some(12_000_000_000),
            ),
            (&["trace_event_clock_sync: name=guid1"], Some(5_000_123_000)),
            (&["trace_event_clock_sync: name=guid1 regulator=x"], Some(5_000_123_000)),
            (
                &["trace_event_clock_sync: parent_ts=7", "trace_event_clock_sync: name=guid1"],
                Some(5_000_123_000),
            ),
            (&["trace_event_clock_sync: name=other"], Some(10_000_000_000)),
            (
                &[
                    "trace_event_clock_sync: realtime_ts=1491850748338",
                    "trace_event_clock_sync: parent_ts=x",
                ],
                Some(10_000_000_000),
            ),
        ];
        for (markers, expected) in cases {
            assert_eq!(time(markers), expected, "{markers:?}");
        }
    }

    #[test]
    fn negative_times_are_refused() {
        let mut clock = Clock::default();
        let (task, thread, process, cpu, nanos) = ("a", 1, None, 0, 5_000_000_000);
        let details = "trace_event_clock_sync: parent_ts=1.0";
        let (context, event) = (Context::Thread, "0");
        let line = Line { task, thread, process, cpu, context, nanos, event, details };
        clock.note(&line, |_| None);
        assert_eq!((clock.time(4_000_000_000, 0), clock.time(3_999_999_999, 0)), (Some(0), None));
        assert_eq!(clock.time(3_999_999_999, 5), Some(4));
    }
}
