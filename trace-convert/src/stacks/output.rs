//! Stacks as speedscope's JSON.

use std::io::{self, Write};

use super::{outer_frames, Framed, Stacks, ThreadStack, Visitor};
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
