//! Events as rows of [`WIDE`].

use datafusion::error::Result;
use trace_analyze::schedule::Schedule;
use trace_format::{Item, ThreadKoids};

use super::{Chosen, Emit, EventReader, EventRow, EventSink, Threads, KEY_COLUMNS, WIDE};
use crate::archive::Archive;
use crate::directory::Directory;
use crate::rows::{Cell, Rows};
use crate::source::{Events, Output, RecordReader};
use crate::times::signed;

/// The column of arguments.
const ARGS: usize = WIDE.len() - 1;

/// The columns of the self time, of the time on a processor, and of the role.
const SELF_TIME: usize = KEY_COLUMNS + 9;
const CPU: usize = KEY_COLUMNS + 10;
const ROLE: usize = KEY_COLUMNS + 12;

/// The columns with what the directory says of threads: the track, names and numbers.
const OF_DIRECTORY: [usize; 5] =
    [1, KEY_COLUMNS + 4, KEY_COLUMNS + 5, KEY_COLUMNS + 6, KEY_COLUMNS + 7];

/// Returns the id of a thread's track, which is even.
pub(crate) fn thread_track(thread: usize) -> i64 {
    (thread as i64) << 1
}

/// Returns the id of the track of the operations of an id: a hash, which is odd.
fn operation_track(process: u64, id: u64) -> i64 {
    hashed(process, id)
}

/// Returns an odd hash of two numbers that is not negative.
pub(crate) fn hashed(one: u64, other: u64) -> i64 {
    // The finalizer of SplitMix64, which is a permutation.
    let mix = |value: u64| {
        let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    };
    (mix(mix(one) ^ other) >> 1 | 1) as i64
}

/// Makes rows of [`WIDE`].
pub(crate) struct WideReader<'a> {
    events: EventReader<'a>,
    context: Context<'a>,
}

/// What rows need to know of the archive.
struct Context<'a> {
    /// `None` if no projected column has something of it.
    directory: Option<&'a Directory>,
    schedule: Option<&'a Schedule>,
    /// The last thread.
    thread: (ThreadKoids, Numbers),
}

/// The numbers of a thread and its process.
#[derive(Debug, Clone, Copy, Default)]
struct Numbers {
    thread: Option<usize>,
    process: Option<usize>,
}

impl<'a> WideReader<'a> {
    pub(crate) fn new(
        archive: &'a Archive,
        events: Events,
        threads: Threads,
        rows: &Rows,
    ) -> Result<Self> {
        let schedule = rows.has(CPU).then(|| archive.schedule()).transpose()?;
        let is_needed = threads != Threads::All || OF_DIRECTORY.iter().any(|it| rows.has(*it));
        let directory = is_needed.then(|| archive.directory()).transpose()?;
        let needs_others = rows.has(SELF_TIME) || rows.has(ROLE);
        let chosen = directory.map(|directory| Chosen::new(directory, threads, needs_others));
        let events = EventReader::new(events, chosen, rows.has(ARGS));
        let thread = (ThreadKoids::UNKNOWN, numbers(directory, ThreadKoids::UNKNOWN));
        Ok(Self { events, context: Context { directory, schedule, thread } })
    }
}

impl RecordReader for WideReader<'_> {
    fn record(&mut self, item: &Item<'_>, number: i64, output: &mut Output) -> Result<()> {
        self.events.record(item, number, &mut Wide { context: &mut self.context, output })
    }

    fn finish(&mut self, output: &mut Output) -> Result<()> {
        self.events.finish(&mut Wide { context: &mut self.context, output })
    }
}

fn numbers(directory: Option<&Directory>, koids: ThreadKoids) -> Numbers {
    let thread = directory.and_then(|it| it.number(koids));
    let process = directory.and_then(|it| it.process_number(koids.process));
    Numbers { thread, process }
}

struct Wide<'w, 'a> {
    context: &'w mut Context<'a>,
    output: &'w mut Output,
}

impl EventSink for Wide<'_, '_> {
    fn row(&mut self, row: &EventRow<'_>) -> Result<()> {
        if !self.output.range.has(row.start) {
            return Ok(());
        }
        if self.context.thread.0 != row.koids {
            self.context.thread = (row.koids, numbers(self.context.directory, row.koids));
        }
        let shown = Shown { context: self.context, row };
        self.output.row(|column, cell| VALUES[column](&shown, cell))
    }
}

/// A row with what its columns show of the archive.
struct Shown<'s> {
    context: &'s Context<'s>,
    row: &'s EventRow<'s>,
}

/// The values of [`WIDE`].
const VALUES: [fn(&Shown<'_>, &mut Cell<'_>); WIDE.len()] = [
    |it, cell| cell.int(it.row.kind as i64),
    |it, cell| cell.int(it.track()),
    |it, cell| cell.int(it.row.start),
    |it, cell| cell.int(it.row.end().unwrap_or(i64::MAX)),
    |it, cell| cell.int(it.row.id),
    |it, cell| cell.int(it.row.last_id),
    |it, cell| cell.text(it.row.names.category()),
    |it, cell| cell.text(it.row.names.name()),
    |it, cell| cell.unsigned(it.row.koids.process),
    |it, cell| cell.unsigned(it.row.koids.thread),
    |it, cell| cell.text(it.directory().and_then(|of| of.process_name(it.numbers().process))),
    |it, cell| cell.text(it.directory().and_then(|of| of.thread_name(it.numbers().thread))),
    |it, cell| cell.int(it.numbers().process.map(|number| number as i64)),
    |it, cell| cell.int(it.numbers().thread.map(|number| number as i64)),
    |it, cell| cell.int(it.row.dur()),
    |it, cell| cell.int(it.row.self_nanos()),
    |it, cell| cell.int(it.cpu()),
    |it, cell| cell.bool(it.row.is_open()),
    |it, cell| cell.text(it.row.role),
    |it, cell| cell.text(it.row.scope),
    |it, cell| cell.unsigned(it.row.correlation),
    |it, cell| cell.text(it.row.phase),
    |it, cell| cell.int(it.row.parent),
    |it, cell| cell.int(it.row.depth),
    |it, cell| cell.args(it.row.args),
];

impl<'s> Shown<'s> {
    fn directory(&self) -> Option<&'s Directory> {
        self.context.directory
    }

    fn numbers(&self) -> Numbers {
        self.context.thread.1
    }

    /// Returns the id of the track.
    fn track(&self) -> i64 {
        let row = self.row;
        let is_async = row.kind == Emit::Operation || row.scope == Some("operation");
        match row.correlation.filter(|_| is_async) {
            Some(id) => operation_track(row.koids.process, id),
            None => self.numbers().thread.map_or(-1, thread_track),
        }
    }

    /// Returns the time on a processor.
    fn cpu(&self) -> Option<i64> {
        let (row, schedule) = (self.row, self.context.schedule?);
        let (from, to) = (row.start as u64, row.end()? as u64);
        let is_known = row.kind == Emit::Span && schedule.covers(from, to);
        let cpu = is_known.then(|| schedule.on_cpu(row.koids.thread, from, to)).flatten();
        // The duration is rounded, and so are its begin and end.
        Some(signed(cpu?).min(row.dur()?))
    }
}
