//! A provider's buffer and records, for unit tests.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use trace_format::encode::append;
use trace_format::layout::InstantScope;
use trace_format::notes::{self, Omission};
use trace_format::record::{Argument, Event, EventKind, Record, Text, Thread, Value};
use trace_format::ThreadKoids;
use trace_protocol::archive::Identity;
use trace_protocol::buffer::consumer::{Collector, IdentityPolicy, Rejection};
use trace_protocol::buffer::header::{
    directory_entry, field, BufferingMode, Layout, Parts, PAGE_SIZE,
};
use trace_protocol::buffer::memory::ReadMapping;
use trace_protocol::buffer::producer::LossReason;
use trace_protocol::message::ClockSource;
use trace_protocol::socket::PeerCredentials;
use trace_protocol::words::as_bytes;

use crate::buffers::{Buffers, SharedBuffer};
use crate::collection::ProviderData;
use crate::limits::Bound;
use crate::machine::End;
use crate::summary::ProviderSummary;
use crate::waker::Waker;
use crate::window::Window;

const UNIT: usize = 256;

/// Returns a layout with rolling buffers of four pages.
pub(crate) fn layout(mode: BufferingMode) -> Layout {
    layout_with(mode, 4 * PAGE_SIZE)
}

pub(crate) fn layout_with(mode: BufferingMode, rolling_size: usize) -> Layout {
    let parts = Parts {
        losses_size: Layout::MIN_LOSSES_SIZE,
        durable_size: PAGE_SIZE,
        rolling_buffers: if mode == BufferingMode::Oneshot { 1 } else { 2 },
        rolling_size,
        unit_size: UNIT,
    };
    Layout::new(mode, parts).unwrap()
}

pub(crate) fn identity() -> Identity {
    Identity {
        id: 7,
        name: "unit".to_owned(),
        process_name: "unit test".to_owned(),
        pid: 4711,
        uid: 1,
        clock: ClockSource::CpuCounter,
    }
}

/// Returns a buffer with a header.
pub(crate) fn buffer(layout: &Layout) -> Arc<SharedBuffer> {
    let buffers = Buffers::new(Waker::new().unwrap());
    let size = layout.total_size() as u64;
    buffers.set_bound(Bound { process: size, user: size, total: size });
    let share = buffers.take(PeerCredentials { pid: 4711, uid: 1, gid: 1 }, size).unwrap();
    let buffer = SharedBuffer::new(share, "test").unwrap();
    buffer.write_at(as_bytes(&layout.to_header()), 0).unwrap();
    Arc::new(buffer)
}

pub(crate) fn collector(buffer: &SharedBuffer, layout: Layout) -> Collector {
    let mapping = ReadMapping::map(buffer.as_fd(), layout.total_size()).unwrap();
    Collector::new(mapping, layout, IdentityPolicy::Own(4711)).unwrap()
}

/// Returns a provider of session 1, and its buffer.
pub(crate) fn provider(layout: Layout) -> (ProviderData, Arc<SharedBuffer>) {
    let buffer = buffer(&layout);
    let collector = collector(&buffer, layout);
    let policy = IdentityPolicy::Own(4711);
    let known = Vec::new();
    let mut data =
        ProviderData::new(identity(), known, policy, collector, Arc::clone(&buffer), layout);
    data.open(1, Window::of_buffer(5, Duration::ZERO));
    (data, buffer)
}

pub(crate) fn event(ticks: u64) -> Record<'static> {
    Record::Event(Event {
        ticks,
        thread: Thread::Indexed(1),
        category: "test".into(),
        name: "event".into(),
        kind: EventKind::Instant { scope: None },
        arguments: (&[]).into(),
    })
}

/// Writes one event into a rolling buffer, as the provider does.
pub(crate) fn write_event(buffer: &SharedBuffer, layout: &Layout, wrapped_count: u32, ticks: u64) {
    write_records(buffer, layout, (wrapped_count, 0), &[event(ticks)]);
}

/// Writes an event into each unit of a rolling buffer. Returns their number, which is the ticks of
/// the last one; those of the first are 1.
pub(crate) fn write_events(buffer: &SharedBuffer, layout: &Layout, wrapped_count: u32) -> u64 {
    let units = (layout.rolling_size() - directory_size(layout)) / layout.unit_size();
    for unit in 0..units {
        write_records(buffer, layout, (wrapped_count, unit), &[event(unit as u64 + 1)]);
    }
    units as u64
}

/// Publishes the number of the rolling buffer that is written, as the provider does.
pub(crate) fn write_wrapped_count(buffer: &SharedBuffer, layout: &Layout, wrapped_count: u32) {
    let word = layout.to_header()[field::VERSION_MODE_WRAPPED] | u64::from(wrapped_count) << 32;
    buffer.write_at(as_bytes(&[word]), field::VERSION_MODE_WRAPPED as u64 * 8).unwrap();
}

/// Writes the report of the losses of thread 4712 into a rolling buffer and the loss table, as the
/// provider does.
pub(crate) fn write_loss_report(buffer: &SharedBuffer, layout: &Layout, wrap: u32, number: u64) {
    let strings = [notes::CATEGORY, notes::RECORDS_DROPPED, "reason", "number", "from", "to"];
    let strings = strings.into_iter().chain(["buffer full"]).zip(1..);
    let strings = strings.map(|(text, index)| Record::String { index, value: text.as_bytes() });
    let numbers = [number, 10, 20].map(Value::Uint64);
    let values = [Value::String(Text::Indexed(7))].into_iter().chain(numbers);
    let argument = |(value, index)| Argument { name: Text::Indexed(index), value };
    let arguments: Vec<_> = values.zip(3..).map(argument).collect();
    let report = Event {
        ticks: 20,
        thread: Thread::Inline(ThreadKoids::new(4711, 4712)),
        category: Text::Indexed(1),
        name: Text::Indexed(2),
        kind: EventKind::Instant { scope: Some(InstantScope::Thread) },
        arguments: (&*arguments).into(),
    };
    let records: Vec<_> = strings.chain([Record::Event(report)]).collect();
    write_records(buffer, layout, (wrap, 0), &records);
    write_reported_losses(buffer, layout, number);
}

fn directory_size(layout: &Layout) -> usize {
    (layout.rolling_size() / layout.unit_size() * 8).next_multiple_of(layout.unit_size())
}

fn write_records(
    buffer: &SharedBuffer,
    layout: &Layout,
    (wrapped_count, unit): (u32, usize),
    records: &[Record<'_>],
) {
    let koids = ThreadKoids::new(4711, 4712);
    let mut words = Vec::new();
    append(&mut words, &Record::Thread { index: 1, koids }).unwrap();
    records.iter().for_each(|record| append(&mut words, record).unwrap());
    words.push(0);
    let rolling = layout.rolling_offset(wrapped_count);
    let place = rolling + directory_size(layout) + unit * layout.unit_size();
    buffer.write_at(as_bytes(&words), place as u64).unwrap();
    let entry = [directory_entry(wrapped_count, 1)];
    buffer.write_at(as_bytes(&entry), (rolling + unit * 8) as u64).unwrap();
}

/// Writes an entry of the loss table: thread 4712 dropped `number` records in a full buffer.
pub(crate) fn write_losses(buffer: &SharedBuffer, layout: &Layout, number: u64) {
    let entry = [1 << 32 | 4712, number, 10, 20, 0, 10];
    buffer.write_at(as_bytes(&entry), layout.losses_offset() as u64).unwrap();
}

/// Writes that a thread has lost `number` records, and that its events report all of them.
pub(crate) fn write_reported_losses(buffer: &SharedBuffer, layout: &Layout, number: u64) {
    let entry = [1 << 32 | 4712, number, 10, 20, number, 20];
    buffer.write_at(as_bytes(&entry), layout.losses_offset() as u64).unwrap();
}

/// Returns the summary of a provider that ended in this way.
pub(crate) fn provider_summary(end: End) -> ProviderSummary {
    ProviderSummary {
        id: 7,
        pid: 4711,
        uid: 1,
        name: "unit".to_owned(),
        records: 9,
        events: 8,
        others: 1,
        bytes: 216,
        dropped: 3,
        omitted: vec![(Omission::Names, 2)],
        rejected: vec![(Rejection::Metadata, 3)],
        categories: [("web".to_owned(), 8)].into(),
        known_categories: vec!["web".to_owned()],
        open_scopes: 1,
        overwritten: 4,
        joined_after: Duration::from_millis(5),
        left_after: Duration::from_secs(1),
        answered_start: true,
        answered_stop: false,
        buffer_size: 4096,
        wrapped_count: 6,
        dropped_by_reason: vec![(LossReason::NotSaved, 3)],
        durable_used: 100,
        durable_size: 4096,
        end,
    }
}
