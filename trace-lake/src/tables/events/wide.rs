//! Events as rows of [`WIDE`].

use datafusion::error::Result;
use trace_format::Item;

use super::{Context, Emit, EventReader, EventRow, EventSink, KEY_COLUMNS, WIDE};
use crate::archive::Archive;
use crate::rows::Rows;
use crate::source::{Events, Output, RecordReader};
use crate::times::signed;

/// The column of arguments.
const ARGS: usize = WIDE.len() - 1;

/// The column of the time on a processor.
const CPU: usize = KEY_COLUMNS + 10;

/// Returns the id of the track of a row.
fn track(context: &Context<'_>, row: &EventRow<'_>) -> i64 {
    let is_async = row.kind == Emit::Operation || row.scope == Some("operation");
    match row.correlation.filter(|_| is_async) {
        Some(id) => operation_track(row.koids.process, id),
        None => context.directory.number(row.koids).map_or(-1, thread_track),
    }
}

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
pub(crate) struct WideReader<'a>(EventReader<'a>);

impl<'a> WideReader<'a> {
    pub(crate) fn new(archive: &'a Archive, events: Events, rows: &Rows) -> Result<Self> {
        let schedule = rows.has(CPU).then(|| archive.schedule()).transpose()?;
        EventReader::new(archive, events, schedule, rows.has(ARGS)).map(Self)
    }
}

impl RecordReader for WideReader<'_> {
    fn record(&mut self, item: &Item<'_>, number: i64, output: &mut Output) -> Result<()> {
        self.0.record(item, number, &mut Wide(output))
    }

    fn finish(&mut self, output: &mut Output) -> Result<()> {
        self.0.finish(&mut Wide(output))
    }
}

struct Wide<'a>(&'a mut Output);

impl EventSink for Wide<'_> {
    fn row(&mut self, context: &Context<'_>, row: &EventRow<'_>) -> Result<()> {
        write(context, row, self.0)
    }
}

fn write(context: &Context<'_>, row: &EventRow<'_>, output: &mut Output) -> Result<()> {
    let directory = context.directory;
    if !output.range.has(row.start) {
        return Ok(());
    }
    let (thread, process) =
        (directory.number(row.koids), directory.process_number(row.koids.process));
    let cpu = || {
        let (schedule, end) = (context.schedule?, row.end?);
        let (from, to) = (row.start as u64, end as u64);
        let known = row.kind == Emit::Span && schedule.covers(from, to);
        known.then(|| schedule.on_cpu(row.koids.thread, from, to)).flatten()
    };
    let rows = &mut output.rows;
    rows.int(row.kind as i64);
    rows.int(track(context, row));
    rows.int(row.start);
    rows.int(row.end.unwrap_or(i64::MAX));
    rows.int(row.id);
    rows.int(row.last_id);
    rows.text(row.category);
    rows.text(row.name);
    rows.unsigned(row.koids.process);
    rows.unsigned(row.koids.thread);
    rows.text(directory.process_name(process));
    rows.text(directory.thread_name(thread));
    rows.int(process.map(|number| number as i64));
    rows.int(thread.map(|number| number as i64));
    rows.int(row.dur);
    rows.int(row.self_nanos);
    rows.int(cpu().map(signed));
    rows.bool(row.end.is_none());
    rows.text(row.role);
    rows.text(row.scope);
    rows.unsigned(row.correlation);
    rows.text(row.phase);
    rows.args(row.args);
    output.end()
}
