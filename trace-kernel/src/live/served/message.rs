//! The messages between a recorder and the privileged helper: packets of text.
//!
//! ```text
//! helper   events      the names of the events that the recorder may use
//! recorder request     clock, size of buffers, threads, events
//! helper   header      the layout of pages
//!          format      of each event
//!          clock       the name of the clock
//!          cpu         of each CPU, with the descriptor of its pages
//!          ready
//! recorder on, off
//! helper   done
//! recorder look        while it records, about once a second
//! helper   done
//!          changed     what another program has changed
//! ```
//!
//! In place of each message, the helper may send an error, and then ends.

use trace_protocol::message::ClockSource;

/// The longest packet in bytes.
pub(super) const MAX_PACKET: usize = 128 << 10;

/// The first line of requests.
const VERSION: &str = "trace-kernel 1";

/// What a recorder asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) clock: ClockSource,
    /// The size of the kernel's buffer of each CPU in bytes.
    pub(super) buffer_size: u64,
    /// The threads that are recorded, with those that they start.
    pub(super) threads: Vec<u64>,
    /// The events as `SYSTEM/NAME`.
    pub(super) events: Vec<String>,
}

impl Request {
    pub(super) fn encode(&self) -> Vec<u8> {
        let Self { clock, buffer_size, threads, events } = self;
        let clock = match clock {
            ClockSource::CpuCounter => "counter",
            _ => "boottime",
        };
        let threads: Vec<String> = threads.iter().map(u64::to_string).collect();
        let (threads, events) = (threads.join(" "), events.join(" "));
        format!("{VERSION}\n{clock}\n{buffer_size}\n{threads}\n{events}").into_bytes()
    }

    /// Parses an untrusted packet.
    pub(super) fn parse(untrusted: &[u8]) -> Option<Self> {
        let mut lines = std::str::from_utf8(untrusted).ok()?.split('\n');
        let mut line = || lines.next();
        if line()? != VERSION {
            return None;
        }
        let clock = match line()? {
            "counter" => ClockSource::CpuCounter,
            "boottime" => ClockSource::Boottime,
            _ => return None,
        };
        let buffer_size = line()?.parse().ok()?;
        let threads = line()?.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
        let events = line()?.split(' ').map(str::to_owned).collect();
        let is_complete = line().is_none();
        is_complete.then_some(Self { clock, buffer_size, threads, events })
    }
}

/// A message of the helper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// The events that the recorder may use, as `SYSTEM:NAME` on each line.
    Events(String),
    /// The layout of pages.
    Header(String),
    /// The format of an event.
    Format { event: String, text: String },
    /// The name of the clock.
    Clock(String),
    /// A CPU, with the descriptor of its pages.
    Cpu(u16),
    /// The buffer is ready.
    Ready,
    /// The request is done.
    Done,
    /// Another program has changed the instance.
    Changed(String),
    /// The request has failed.
    Error(String),
}

impl Reply {
    pub(super) fn encode(&self) -> Vec<u8> {
        let text = match self {
            Self::Events(events) => format!("events\n{events}"),
            Self::Header(text) => format!("header\n{text}"),
            Self::Format { event, text } => format!("format {event}\n{text}"),
            Self::Clock(name) => format!("clock {name}\n"),
            Self::Cpu(cpu) => format!("cpu {cpu}\n"),
            Self::Ready => "ready\n".to_owned(),
            Self::Done => "done\n".to_owned(),
            Self::Changed(text) => format!("changed\n{text}"),
            Self::Error(text) => format!("error\n{text}"),
        };
        text.into_bytes()
    }

    /// Parses a packet.
    pub(super) fn parse(packet: &[u8]) -> Option<Self> {
        let (first, text) = std::str::from_utf8(packet).ok()?.split_once('\n')?;
        let (kind, name) = first.split_once(' ').unwrap_or((first, ""));
        let (owned, name) = (text.to_owned(), name.to_owned());
        Some(match kind {
            "events" => Self::Events(owned),
            "header" => Self::Header(owned),
            "format" => Self::Format { event: name, text: owned },
            "clock" => Self::Clock(name),
            "cpu" => Self::Cpu(name.parse().ok()?),
            "ready" => Self::Ready,
            "done" => Self::Done,
            "changed" => Self::Changed(owned),
            "error" => Self::Error(owned),
            _ => return None,
        })
    }
}

/// The request to look for changes of the instance.
pub(super) const LOOK: &[u8] = b"look";

/// The request to record, or to stop recording.
pub(super) fn switch(is_on: bool) -> &'static [u8] {
    if is_on {
        b"on"
    } else {
        b"off"
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn request() -> Request {
        let events = vec!["sched/sched_switch".to_owned(), "task/task_rename".to_owned()];
        let clock = ClockSource::CpuCounter;
        Request { clock, buffer_size: 4096, threads: vec![7, 8], events }
    }

    #[test]
    fn requests_and_replies_are_parsed() {
        assert_eq!(Request::parse(&request().encode()), Some(request()));
        let text = || "line\n\nline".to_owned();
        for reply in [
            Reply::Events(text()),
            Reply::Header(text()),
            Reply::Format { event: "a/b".to_owned(), text: text() },
            Reply::Clock("x86-tsc".to_owned()),
            Reply::Cpu(1023),
            Reply::Ready,
            Reply::Done,
            Reply::Changed(text()),
            Reply::Error(text()),
        ] {
            assert_eq!(Reply::parse(&reply.encode()), Some(reply));
        }
    }

    #[test]
    fn malformed_requests() {
        for wrong in [
            "",
            "trace-kernel 2\ncounter\n1\n1\na/b",
            "trace-kernel 1\nother\n1\n1\na/b",
            "trace-kernel 1\ncounter\n-1\n1\na/b",
            "trace-kernel 1\ncounter\n1\n\na/b",
            "trace-kernel 1\ncounter\n1\n1 x\na/b",
            "trace-kernel 1\ncounter\n1\n1",
            "trace-kernel 1\ncounter\n1\n1\na/b\n",
        ] {
            assert_eq!(Request::parse(wrong.as_bytes()), None, "{wrong:?}");
        }
        assert_eq!(Request::parse(b"trace-kernel 1\n\xff"), None);
    }

    proptest! {
        #[test]
        fn random_packets_never_panic(packet in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _request = Request::parse(&packet);
            let _reply = Reply::parse(&packet);
        }

        /// Also bytes that begin as a request does.
        #[test]
        fn changed_requests_never_panic(place in 0_usize..60, byte: u8) {
            let mut packet = request().encode();
            if let Some(at) = packet.get_mut(place) {
                *at = byte;
            }
            let _request = Request::parse(&packet);
        }
    }
}
