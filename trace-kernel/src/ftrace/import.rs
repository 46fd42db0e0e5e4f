//! The importer for ftrace's text.

use std::io::{self, BufRead, BufReader, Read};

use trace_analyze::input::{imported, into_io, Importer, InputFormat};
use trace_format::layout::{cut_str, InstantScope, MAX_STRING_BYTES};
use trace_format::{Argument, Event, EventKind, Thread, ThreadKoids, Value, WriteError, Writer};

use super::line::Line;
use super::scheduler::entry;
use crate::event;
use crate::fxt::{write_event, write_scheduling, Threads, Wakeups};
use crate::marker::Marker;

/// The maximum length of a line, in bytes.
const MAX_LINE_BYTES: u64 = 1 << 20;

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
                _ => Ok(false),
            };
        }
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        let written = match self.has_events(text.trim_end()) {
            true => Line::parse(text.trim_end()).map_or(Ok(()), |line| self.event(archive, &line)),
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
        Self { input, region, line: Vec::new(), is_started: false, threads, wakeups }
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

    fn event(&mut self, archive: &mut Writer<Vec<u8>>, line: &Line<'_>) -> Result<(), WriteError> {
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

fn cut(text: &str) -> &str {
    cut_str(text, MAX_STRING_BYTES)
}
