//! The importer for ftrace's text.

use std::io::{self, BufRead, BufReader, Read};

use trace_analyze::input::{imported, into_io, Importer, InputFormat};
use trace_format::layout::{cut_str, InstantScope, MAX_STRING_BYTES};
use trace_format::{Argument, Event, EventKind, Thread, ThreadKoids, Value, WriteError, Writer};

use super::line::Line;
use super::scheduler::entry;
use crate::event;
use crate::fxt::{write_event, write_gap, write_scheduling, Threads, Wakeups};
use crate::marker::Marker;

/// The maximum length of a line, in bytes.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// The begin of the line with the numbers of events in the buffer and of all events.
const ENTRIES: &str = "entries-in-buffer/entries-written: ";

/// The reason of the events that are not in the buffer any more.
const OVERWRITTEN: &str = "overwritten in the kernel's buffer";

/// The number of lines that are parsed to detect the format.
const MAX_HEAD_LINES: usize = 64;

/// The tags around the text in the HTML of systrace.
const DATA: &str = "<script class=\"trace-data\"";
const DATA_END: &str = "</script>";

/// The text of ftrace as an input.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ftrace;

impl InputFormat for Ftrace {
    fn name(&self) -> &'static str {
        "ftrace text"
    }

    fn detects(&self, start: &[u8]) -> bool {
        if is_html(start) || start.starts_with(b"# tracer:") {
            return true;
        }
        let text = String::from_utf8_lossy(start);
        let mut lines = text.split_inclusive('\n').take(MAX_HEAD_LINES);
        lines.any(|line| line.ends_with('\n') && Line::parse(line.trim_end()).is_some())
    }

    fn open<'a>(&self, input: Box<dyn Read + 'a>) -> io::Result<Box<dyn Read + 'a>> {
        let mut input = BufReader::with_capacity(64 << 10, input);
        let region = match is_html(input.fill_buf()?) {
            true => Region::Page,
            false => Region::Text,
        };
        imported(FtraceImporter::new(input, region))
    }
}

fn is_html(start: &[u8]) -> bool {
    let head = start.trim_ascii_start().get(..14).unwrap_or_default().to_ascii_lowercase();
    head.starts_with(b"<!doctype html") || head.starts_with(b"<html")
}

/// The part of the input that the next line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Region {
    Text,
    /// A web page before its first data.
    Page,
    /// Data in a web page.
    Data,
    /// A web page after data.
    AfterData,
}

#[derive(Debug)]
struct FtraceImporter<R> {
    input: R,
    region: Region,
    line: Vec<u8>,
    is_started: bool,
    /// Events that the kernel has overwritten, which are reported before the first event.
    overwritten: u64,
    threads: Threads,
    wakeups: Wakeups,
}

impl<R: BufRead> Importer for FtraceImporter<R> {
    fn import(&mut self, archive: &mut Writer<Vec<u8>>) -> io::Result<bool> {
        if !std::mem::replace(&mut self.is_started, true) {
            archive.provider(1, "ftrace").map_err(into_io)?;
            archive.initialization(1_000_000_000).map_err(into_io)?;
        }
        self.line.clear();
        if self.input.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut self.line)? == 0 {
            return match self.region {
                Region::Page => {
                    Err(io::Error::new(io::ErrorKind::InvalidData, "the page has no trace data"))
                }
                _ => {
                    let is_reported = self.overwritten > 0;
                    self.report_overwritten(archive, 0).map_err(into_io)?;
                    Ok(is_reported)
                }
            };
        }
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        let written = match self.has_events(text.trim_end()) {
            true => self.line(archive, text.trim_end()),
            false => Ok(()),
        };
        drop(text);
        self.line = line;
        written.map(|()| true).map_err(into_io)
    }
}

impl<R> FtraceImporter<R> {
    fn new(input: R, region: Region) -> Self {
        let (threads, wakeups) = (Threads::default(), Wakeups::default());
        let (line, is_started, overwritten) = (Vec::new(), false, 0);
        Self { input, region, line, is_started, overwritten, threads, wakeups }
    }

    /// Returns whether a line may have an event.
    fn has_events(&mut self, line: &str) -> bool {
        match self.region {
            Region::Text => return true,
            Region::Page | Region::AfterData if line.contains(DATA) => self.region = Region::Data,
            Region::Data if line.contains(DATA_END) => self.region = Region::AfterData,
            Region::Data => return true,
            Region::Page | Region::AfterData => {}
        }
        false
    }

    fn line(&mut self, archive: &mut Writer<Vec<u8>>, text: &str) -> Result<(), WriteError> {
        if let Some(line) = Line::parse(text) {
            return self.event(archive, &line);
        }
        self.overwritten = overwritten(text).unwrap_or(self.overwritten);
        Ok(())
    }

    /// Reports the overwritten events, if there are any. The time of their first one is not known.
    fn report_overwritten(
        &mut self,
        archive: &mut Writer<Vec<u8>>,
        nanos: u64,
    ) -> Result<(), WriteError> {
        match std::mem::take(&mut self.overwritten) {
            0 => Ok(()),
            number => {
                let gap = (number, OVERWRITTEN);
                write_gap(archive, ThreadKoids::new(0, 0), gap, (nanos, nanos))
            }
        }
    }

    fn event(&mut self, archive: &mut Writer<Vec<u8>>, line: &Line<'_>) -> Result<(), WriteError> {
        self.report_overwritten(archive, line.nanos)?;
        let marker = line.marker().and_then(Marker::parse);
        let process = line.process.or(marker.and_then(|marker| marker.process));
        let process = self.threads.note(archive, line.thread, process, line.task)?;
        if let Some(entry) = entry(line, line.nanos) {
            if let event::Event::Switch { incoming: task, .. }
            | event::Event::Waking { task, .. }
            | event::Event::Wakeup { task, .. } = entry.event
            {
                self.threads.note(archive, task.thread, None, task.name)?;
            }
            return match self.wakeups.is_repeated(&entry.event) {
                true => Ok(()),
                false => write_scheduling(archive, &entry, None),
            };
        }
        let koids = ThreadKoids::new(process.unwrap_or(0), line.thread);
        let details = Argument::new("details", Value::String(cut(line.details).into()));
        let (category, name, kind, argument) = match marker {
            Some(Marker { name, kind, value, .. }) => ("atrace", name, kind, value),
            None => {
                let kind = EventKind::Instant { scope: Some(InstantScope::Thread) };
                ("ftrace", line.event, kind, Some(details))
            }
        };
        // An end has no category, so that it closes any begin.
        let category = if kind == EventKind::DurationEnd { "" } else { category };
        let event = Event {
            ticks: line.nanos,
            thread: Thread::Inline(koids),
            category: category.into(),
            name: cut(name).into(),
            kind,
            arguments: argument.as_slice().into(),
        };
        write_event(archive, event)
    }
}

/// Returns the number of overwritten events that the head of the text has.
fn overwritten(line: &str) -> Option<u64> {
    let numbers = line.strip_prefix('#')?.trim_start().strip_prefix(ENTRIES)?;
    let (kept, written) = numbers.split_whitespace().next()?.split_once('/')?;
    let number = |text: &str| text.parse::<u64>().ok();
    Some(number(written)?.saturating_sub(number(kept)?))
}

fn cut(text: &str) -> &str {
    cut_str(text, MAX_STRING_BYTES)
}

#[cfg(test)]
mod tests {
    use trace_analyze::check::check;
    use trace_format::Reader;

    use super::*;

    fn dropped(text: &str) -> u64 {
        let archive = Ftrace.open(Box::new(text.as_bytes())).unwrap();
        check(Reader::new(archive)).unwrap().damage.records_dropped
    }

    #[test]
    fn overwritten_events_are_losses() {
        let event = "  app-7  [000] d... 1.500000: sched_waking: a\n";
        let head = |numbers: &str| format!("# tracer: nop\n#\n# {ENTRIES}{numbers}   #P:2\n");
        assert_eq!(dropped(&(head("918/2184") + event + event)), 1266);
        assert_eq!(dropped(&(head("2/2") + event)), 0);
        assert_eq!(dropped(event), 0);
        // All of them.
        assert_eq!(dropped(&head("0/5")), 5);
    }

    #[test]
    fn numbers_of_entries() {
        let line = |numbers: &str| overwritten(&format!("# {ENTRIES}{numbers}"));
        assert_eq!(line("918/2184   #P:2"), Some(1266));
        assert_eq!(line("5/5 #P:1"), Some(0));
        for wrong in ["", "5", "5/", "/5", "a/b", "5/99999999999999999999"] {
            assert_eq!(line(wrong), None, "{wrong}");
        }
        assert_eq!(overwritten("entries-in-buffer/entries-written: 1/2"), None);
    }
}
