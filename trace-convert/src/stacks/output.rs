//! Stacks in the formats of others.

use std::collections::HashMap;
use std::io::{self, Write};

use super::{Framed, Stacks, ThreadStack, Visitor};
use crate::catalog::{Catalog, LabelId};

impl Stacks {
    /// Writes the JSON of speedscope. Times are in nanoseconds since the first
    /// begin.
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub fn speedscope(&self, name: &str, mut output: impl Write) -> io::Result<()> {
        let labels = self.threads.iter().flat_map(|thread| &thread.durations);
        let mut frames = Frames::default();
        labels.for_each(|duration| frames.add(self.catalog(), duration.label));
        output
            .write_all(b"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",")?;
        write!(output, "\"exporter\":\"trace\",\"name\":{},", json(name))?;
        write!(output, "\"shared\":{{\"frames\":[{}]}},\"profiles\":[", frames.json.join(","))?;
        let begins = self.threads.iter().filter_map(|thread| thread.durations.first());
        let start = begins.map(|first| first.begin).min().unwrap_or(0);
        for (number, thread) in self.threads.iter().enumerate() {
            if number > 0 {
                output.write_all(b",")?;
            }
            self.profile(thread, start, &frames, &mut output)?;
        }
        output.write_all(b"]}\n")?;
        output.flush()
    }

    fn profile(
        &self,
        thread: &ThreadStack,
        start: u64,
        frames: &Frames,
        output: &mut impl Write,
    ) -> io::Result<()> {
        let koids = thread.koids;
        let process = super::named(koids.process, self.catalog().process_name(koids.process));
        let name = super::named(koids.thread, self.catalog().thread_name(koids));
        let first = thread.durations.first().map_or(start, |first| first.begin);
        let last = thread.durations.iter().map(|duration| duration.end).max().unwrap_or(first);
        write!(
            output,
            "\n{{\"type\":\"evented\",\"name\":{},\"unit\":\"nanoseconds\",\"startValue\":{},\"endValue\":{},\"events\":[",
            json(&format!("{process} / {name}")),
            first - start,
            last - start
        )?;
        let mut events = Events { output, frames, start, is_first: true, failed: None };
        thread.walk(&mut events);
        if let Some(error) = events.failed {
            return Err(error);
        }
        output.write_all(b"]}")
    }

    /// Writes a line for each duration, with a heading. Times are in
    /// nanoseconds of the providers' clocks; durations are in the order of
    /// their ends on each thread, thread behind thread.
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub fn csv(&self, mut output: impl Write) -> io::Result<()> {
        output.write_all(
            b"process,process_name,thread,thread_name,category,name,depth,begin_ns,duration_ns,self_ns\n",
        )?;
        for thread in &self.threads {
            let koids = thread.koids;
            let process = cell(self.catalog().process_name(koids.process));
            let name = cell(self.catalog().thread_name(koids));
            let head = format!("{},{process},{},{name}", koids.process, koids.thread);
            let mut lines =
                Lines { output: &mut output, catalog: self.catalog(), head, failed: None };
            thread.walk(&mut lines);
            if let Some(error) = lines.failed {
                return Err(error);
            }
        }
        output.flush()
    }
}

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns a cell of RFC 4180.
fn cell(text: &str) -> String {
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// The frames of speedscope, each with its number.
#[derive(Debug, Default)]
struct Frames {
    numbers: HashMap<LabelId, usize>,
    json: Vec<String>,
}

impl Frames {
    fn add(&mut self, catalog: &Catalog, label: LabelId) {
        let next = self.json.len();
        if *self.numbers.entry(label).or_insert(next) == next {
            let (name, category) = (json(catalog.name(label)), json(catalog.category(label)));
            self.json.push(format!("{{\"name\":{name},\"file\":{category}}}"));
        }
    }
}

struct Events<'a, W> {
    output: &'a mut W,
    frames: &'a Frames,
    start: u64,
    is_first: bool,
    failed: Option<io::Error>,
}

impl<W: Write> Events<'_, W> {
    fn event(&mut self, kind: char, frame: &Framed, at: u64) {
        if self.failed.is_some() {
            return;
        }
        let separator = if std::mem::take(&mut self.is_first) { "" } else { "," };
        let number = self.frames.numbers.get(&frame.label).copied().unwrap_or(0);
        let at = at - self.start;
        let written = write!(
            self.output,
            "{separator}{{\"type\":\"{kind}\",\"frame\":{number},\"at\":{at}}}"
        );
        self.failed = written.err();
    }
}

impl<W: Write> Visitor for Events<'_, W> {
    fn open(&mut self, frame: &Framed) {
        self.event('O', frame, frame.begin);
    }

    fn close(&mut self, frame: &Framed) {
        self.event('C', frame, frame.end);
    }
}

struct Lines<'a, W> {
    output: &'a mut W,
    catalog: &'a Catalog,
    head: String,
    failed: Option<io::Error>,
}

impl<W: Write> Visitor for Lines<'_, W> {
    fn open(&mut self, _frame: &Framed) {}

    fn close(&mut self, frame: &Framed) {
        if self.failed.is_some() {
            return;
        }
        let (category, name) = (self.catalog.category(frame.label), self.catalog.name(frame.label));
        let Framed { begin, end, own, depth, .. } = *frame;
        let written = writeln!(
            self.output,
            "{},{},{},{depth},{begin},{},{own}",
            self.head,
            cell(category),
            cell(name),
            end - begin
        );
        self.failed = written.err();
    }
}
