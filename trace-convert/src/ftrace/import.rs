//! The importer for ftrace's text.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read};

use trace_analyze::input::{imported, into_io, Importer, InputFormat};
use trace_format::layout::{cut_str, InstantScope, ObjectType, MAX_STRING_BYTES};
use trace_format::{
    Argument, Arguments, Event, EventKind, KernelObject, Record, Thread, ThreadKoids, Value,
    WriteError, Writer,
};

use super::line::Line;
use super::marker::Marker;
use super::record::{write, Wakeups};
use super::scheduler::Scheduled;

/// The maximum length of a line, in bytes.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// The number of lines that are parsed to detect the format.
const MAX_HEAD_LINES: usize = 64;

/// The maximum number of threads whose name and process are kept.
const MAX_THREADS: usize = 1 << 16;

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
        let marker = Marker::of(line);
        let process = line.process.or(marker.and_then(|marker| marker.process));
        let process = self.threads.note(archive, line.thread, process, line.task)?;
        if let Some(scheduled) = Scheduled::of(line) {
            let (Scheduled::Switch { incoming: task, .. }
            | Scheduled::Waking { task, .. }
            | Scheduled::Wakeup { task, .. }) = scheduled;
            self.threads.note(archive, task.thread, None, task.name)?;
            if self.wakeups.is_repeated(&scheduled) {
                return Ok(());
            }
            return write(archive, line.nanos, line, scheduled, false);
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
        match archive.record(&event.into()) {
            // The arguments are too long for a record.
            Err(WriteError::Encode(_)) => {
                let record = Record::Event(Event { arguments: Arguments::NONE, ..event });
                archive.record(&record)
            }
            written => written,
        }
    }
}

fn cut(text: &str) -> &str {
    cut_str(text, MAX_STRING_BYTES)
}

/// The process and the name of each thread.
#[derive(Debug, Default)]
struct Threads(HashMap<u64, (Option<u64>, Box<str>)>);

impl Threads {
    /// Returns the process of a thread, if it is known. Writes the thread's name if the name or the
    /// process has changed.
    fn note(
        &mut self,
        archive: &mut Writer<Vec<u8>>,
        thread: u64,
        process: Option<u64>,
        name: &str,
    ) -> Result<Option<u64>, WriteError> {
        if self.0.len() >= MAX_THREADS && !self.0.contains_key(&thread) {
            return Ok(process);
        }
        let known = self.0.entry(thread).or_default();
        let process = process.or(known.0);
        let name = match name {
            "" | "<...>" => &*known.1,
            name => cut(name),
        };
        if (known.0, &*known.1) == (process, name) {
            return Ok(process);
        }
        if thread != 0 && !name.is_empty() {
            let argument = process.map(|koid| Argument::new("process", Value::Koid(koid)));
            let (object_type, arguments) = (ObjectType::THREAD, argument.as_slice().into());
            let name = name.into();
            archive.record(&KernelObject { object_type, koid: thread, name, arguments }.into())?;
        }
        *known = (process, name.into());
        Ok(process)
    }
}
