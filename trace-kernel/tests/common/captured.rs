//! What `tests/capture` has recorded.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use trace_kernel::format::{page_layout, EventFormat};
use trace_kernel::page::{PageLayout, RawEvent};
use trace_kernel::ByteOrder;

/// Pages, their formats, and the kernel's text of them.
pub(crate) struct Capture {
    pub(crate) layout: PageLayout,
    pub(crate) formats: HashMap<u16, EventFormat>,
    /// The pages of each CPU, with the number of its overwritten events.
    pub(crate) cpus: Vec<(Vec<u8>, u64)>,
    pub(crate) text: String,
}

/// A line of the text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) thread: i64,
    pub(crate) cpu: usize,
    /// The flags, such as `d.h2.`.
    pub(crate) flags: &'a str,
    pub(crate) time: u64,
    pub(crate) event: &'a str,
    pub(crate) details: &'a str,
}

impl Capture {
    /// Reads the directory in `TRACE_KERNEL_CAPTURE`, or that of this repository.
    pub(crate) fn read() -> Self {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captured");
        let directory = std::env::var_os("TRACE_KERNEL_CAPTURE").map_or(kept, PathBuf::from);
        let bytes = |name: &str| fs::read(directory.join(name)).unwrap();
        let text = |name: &str| String::from_utf8_lossy(&bytes(name)).into_owned();
        let all = text("formats");
        let formats = all.split("system: ").skip(1).map(|part| {
            let (system, format) = part.split_once('\n').unwrap();
            let format = EventFormat::parse(system, format).unwrap();
            (format.id, format)
        });
        let cpus = (0..).map(|cpu| format!("cpu{cpu}"));
        let cpus = cpus.take_while(|cpu| directory.join(format!("{cpu}.pages")).exists());
        let cpus = cpus.map(|cpu| {
            let stats = text(&format!("{cpu}.stats"));
            let overrun = stats.lines().find_map(|line| line.strip_prefix("overrun: "));
            (bytes(&format!("{cpu}.pages")), overrun.unwrap().parse().unwrap())
        });
        Self {
            layout: page_layout(&text("header_page"), ByteOrder::NATIVE).unwrap(),
            formats: formats.collect(),
            cpus: cpus.collect(),
            text: text("trace.txt"),
        }
    }

    /// Returns the events of a CPU.
    pub(crate) fn events<'a>(
        &'a self,
        (bytes, _): &'a (Vec<u8>, u64),
    ) -> impl Iterator<Item = RawEvent<'a>> {
        let pages = bytes.chunks(self.layout.page_size);
        let pages = pages.map(|page| self.layout.parse(page).unwrap());
        pages.flat_map(|page| page.events().map(Result::unwrap))
    }

    /// Returns the lines of the text.
    pub(crate) fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let events = self.text.lines().filter(|line| !line.starts_with('#'));
        events
            .filter(|line| !line.contains("EVENTS] ***") && !line.contains("buffer started"))
            .map(line)
    }
}

/// `bash-12 [001] d..2. 69307571073766: name: details`
fn line(line: &str) -> Line<'_> {
    let (place, _) =
        line.match_indices(" [").find(|(at, _)| line[at + 5..].starts_with(']')).unwrap();
    let (task, rest) = line.split_at(place);
    let thread = task.trim_end().rsplit('-').next().unwrap().parse().unwrap();
    let (cpu, rest) = rest[2..].split_once(']').unwrap();
    let (flags, rest) = rest.trim_start().split_once(' ').unwrap();
    let (time, rest) = rest.trim_start().split_once(": ").unwrap();
    let (event, details) = rest.split_once(':').unwrap();
    let time = time.parse().unwrap();
    let (cpu, details) = (cpu.parse().unwrap(), details.trim_start());
    Line { thread, cpu, flags, time, event, details }
}
