//! Events that programs write to `trace_marker`, in Android's format.

use trace_format::{Argument, EventKind, Value};

/// An event that a program has written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Marker<'a> {
    /// Its process.
    pub process: Option<u64>,
    /// Its name, empty for the end of a duration.
    pub name: &'a str,
    /// What happened.
    pub kind: EventKind,
    /// The value of a counter.
    pub value: Option<Argument<'a>>,
}

impl<'a> Marker<'a> {
    /// Parses the text of a marker; returns `None` if it does not follow the convention.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        // Some kernels print the function's name first.
        let text = text.strip_prefix("tracing_mark_write: ").unwrap_or(text);
        let mut parts = text.splitn(2, '|');
        let (letter, rest) = (parts.next()?, parts.next().unwrap_or_default());
        let (process, rest) = rest.split_once('|').unwrap_or((rest, ""));
        let process = process.trim().parse().ok();
        // A name may contain bars.
        let last = || rest.rsplit_once('|');
        let (name, kind, value) = match letter {
            "B" => (rest, EventKind::DurationBegin, None),
            "E" => ("", EventKind::DurationEnd, None),
            "S" => {
                let (name, id) = last()?;
                (name, EventKind::AsyncBegin { id: id.trim().parse().ok()? }, None)
            }
            "F" => {
                let (name, id) = last()?;
                (name, EventKind::AsyncEnd { id: id.trim().parse().ok()? }, None)
            }
            "C" => {
                let (name, value) = last()?;
                let value = Value::Int64(value.trim().parse().ok()?);
                (name, EventKind::Counter { id: 0 }, Some(Argument::new("value", value)))
            }
            _ => return None,
        };
        Some(Self { process, name, kind, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers() {
        let of = |text| {
            let marker = Marker::parse(text)?;
            Some((marker.process, marker.name, marker.kind))
        };
        assert_eq!(of("B|12|a|b"), Some((Some(12), "a|b", EventKind::DurationBegin)));
        assert_eq!(of("E|12"), Some((Some(12), "", EventKind::DurationEnd)));
        assert_eq!(of("E"), Some((None, "", EventKind::DurationEnd)));
        assert_eq!(of("S|12|x|9"), Some((Some(12), "x", EventKind::AsyncBegin { id: 9 })));
        assert_eq!(of("F|12|x|9"), Some((Some(12), "x", EventKind::AsyncEnd { id: 9 })));
        assert_eq!(of("C|12|x y|-3"), Some((Some(12), "x y", EventKind::Counter { id: 0 })));
        for other in ["", "hello", "C|12|x", "C|12|x|y", "trace_event_clock_sync: parent_ts=0"] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
