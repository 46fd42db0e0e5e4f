//! Stacks as speedscope's JSON and as CSV.

use std::borrow::Cow;
use std::io::{self, Write};

use super::{outer_frames, Framed, Stacks, ThreadStack, Visitor};
use crate::csv::cell;
use trace_analyze::catalog::LabelId;
use trace_analyze::stats::Grouping;

impl Stacks {
    /// Writes speedscope's JSON. Times are in nanoseconds since the first begin.
    ///
    /// # Errors
    ///
    /// Writing, or reading a temporary file, failed.
    pub fn speedscope(&self, name: &str, mut output: impl Write) -> io::Result<()> {
        let (frames, numbers) = self.numbered_frames();
        output
            .write_all(b"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",")?;
        write!(output, "\"exporter\":\"trace\",\"name\":{},", json(name))?;
        write!(output, "\"shared\":{{\"frames\":[{}]}},\"profiles\":[", frames.join(","))?;
        let start = self.threads.iter().map(|thread| thread.first).min().unwrap_or(0);
        for (number, thread) in self.threads.iter().enumerate() {
            if number > 0 {
                output.write_all(b",")?;
            }
            self.profile(thread, start, &numbers, &mut output)?;
        }
        output.write_all(b"]}\n")?;
        output.flush()
    }

    /// Returns the frames of speedscope, and the frame's number for each label.
    fn numbered_frames(&self) -> (Vec<String>, Vec<usize>) {
        let mut frames = Vec::new();
        let mut numbers = Vec::with_capacity(self.labels.len());
        for (label, is_used) in (0..).map(LabelId).zip(&self.labels) {
            numbers.push(frames.len());
            if *is_used {
                let (name, category) = (self.catalog().name(label), self.catalog().category(label));
                frames.push(format!("{{\"name\":{},\"file\":{}}}", json(name), json(category)));
            }
        }
        (frames, numbers)
    }

    fn profile(
        &self,
        thread: &ThreadStack,
        start: u64,
        numbers: &[usize],
        output: &mut impl Write,
    ) -> io::Result<()> {
        let name = outer_frames(self.catalog(), Grouping::Thread, thread.koids).join(" / ");
        write!(
            output,
            "\n{{\"type\":\"evented\",\"name\":{},\"unit\":\"nanoseconds\",\"startValue\":{},\"endValue\":{},\"events\":[",
            json(&name),
            thread.first - start,
            thread.last - start
        )?;
        self.walk(thread.thread, &mut Events { output, numbers, start, is_first: true })?;
        output.write_all(b"]}")
    }

    /// Writes a header and a line for each duration. Times are in nanoseconds of the providers'
    /// clocks. Lines are ordered by thread and then by end. A child reduces the `self_ns` of its
    /// parent up to the parent's end.
    ///
    /// # Errors
    ///
    /// Writing, or reading a temporary file, failed.
    pub fn csv(&self, mut output: impl Write) -> io::Result<()> {
        output.write_all(
            b"process,process_name,thread,thread_name,category,name,depth,begin_ns,duration_ns,self_ns\n",
        )?;
        let cells: Vec<Cow<'_, str>> = self.catalog().strings().map(cell).collect();
        for thread in &self.threads {
            let koids = thread.koids;
            let process = cell(self.catalog().process_name(koids.process));
            let name = cell(self.catalog().thread_name(koids));
            let head = format!("{},{process},{},{name}", koids.process, koids.thread);
            let labels = self.catalog().labels();
            let mut lines = Lines { output: &mut output, labels, cells: &cells, head };
            self.walk(thread.thread, &mut lines)?;
        }
        output.flush()
    }
}

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

struct Events<'a, W> {
    output: &'a mut W,
    numbers: &'a [usize],
    start: u64,
    is_first: bool,
}

impl<W: Write> Events<'_, W> {
    fn event(&mut self, kind: char, frame: &Framed, at: u64) -> io::Result<()> {
        let separator = if std::mem::take(&mut self.is_first) { "" } else { "," };
        let number = self.numbers.get(frame.label.0 as usize).copied().unwrap_or(0);
        let at = at - self.start;
        write!(self.output, "{separator}{{\"type\":\"{kind}\",\"frame\":{number},\"at\":{at}}}")
    }
}

impl<W: Write> Visitor for Events<'_, W> {
    fn open(&mut self, frame: &Framed) -> io::Result<()> {
        self.event('O', frame, frame.begin)
    }

    fn close(&mut self, frame: &Framed) -> io::Result<()> {
        self.event('C', frame, frame.end)
    }
}

struct Lines<'a, W> {
    output: &'a mut W,
    /// The places in `cells` of each label's category and name.
    labels: &'a [(u32, u32)],
    cells: &'a [Cow<'a, str>],
    head: String,
}

impl<'a, W> Lines<'a, W> {
    fn cell(&self, string: u32) -> &'a str {
        self.cells.get(string as usize).map_or("", |cell| cell)
    }
}

impl<W: Write> Visitor for Lines<'_, W> {
    fn open(&mut self, _frame: &Framed) -> io::Result<()> {
        Ok(())
    }

    fn close(&mut self, frame: &Framed) -> io::Result<()> {
        let Framed { label, begin, length, own, depth, .. } = *frame;
        let (category, name) = self.labels.get(label.0 as usize).copied().unwrap_or_default();
        let (category, name) = (self.cell(category), self.cell(name));
        writeln!(self.output, "{},{category},{name},{depth},{begin},{length},{own}", self.head)
    }
}
