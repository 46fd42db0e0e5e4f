//! Counts of unknown references, unknown arguments, and times out of range.
//!
//! [`Item::text`] and [`Item::thread`] return a placeholder for an index that was never registered.
//! An [`Audit`] counts these references, each place in a record once, and the arguments that
//! [`Arguments::iter`](crate::Arguments::iter) skips.

use crate::reader::Item;
use crate::record::{Arguments, Event, EventKind, Process, Record, Reference, Text, Thread};

/// Counts of the data that a reader replaces or skips in well-formed records.
///
/// # Examples
///
/// ```
/// use trace_format::audit::Audit;
/// use trace_format::Reader;
///
/// # fn open() -> &'static [u8] { b"\x10\x00\x04\x46\x78\x54\x16\x00" }
/// let mut reader = Reader::new(open());
/// let mut audit = Audit::default();
/// while let Some(item) = reader.next()? {
///     audit.item(&item);
/// }
/// assert_eq!(audit, Audit::default());
/// # Ok::<(), trace_format::ReadError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Audit {
    /// References to strings that are not registered.
    pub unknown_strings: u64,
    /// References to threads and processes that are not registered.
    pub unknown_threads: u64,
    /// Arguments of unknown types. They are not malformed.
    pub unknown_arguments: u64,
    /// Times beyond `u64::MAX` nanoseconds (584 years) of the provider's clock. They are read as
    /// `u64::MAX` nanoseconds.
    pub saturated_times: u64,
}

impl Audit {
    /// Adds the counts of `item`'s record.
    #[inline(always)]
    pub fn item(&mut self, item: &Item<'_>) {
        match &item.record {
            // Most records are events, so their arguments are not decoded a second time.
            Record::Event(event) => {
                self.event_times(item, event);
                self.thread(item, event.thread);
                self.text(item, event.category);
                self.text(item, event.name);
                if !event.arguments.is_empty() {
                    self.arguments(item, &event.arguments);
                }
            }
            _ => self.references(item),
        }
    }

    #[inline(never)]
    fn arguments(&mut self, item: &Item<'_>, arguments: &Arguments<'_>) {
        self.unknown_arguments += arguments.string_indices(|index| self.string(item, index));
    }

    #[inline]
    fn event_times(&mut self, item: &Item<'_>, event: &Event<'_>) {
        self.time(item, event.ticks);
        if let EventKind::DurationComplete { end } = event.kind {
            self.time(item, end);
        }
    }

    #[inline]
    fn time(&mut self, item: &Item<'_>, ticks: u64) {
        self.saturated_times += u64::from(item.provider.tick_rate().saturates(ticks));
    }

    fn references(&mut self, item: &Item<'_>) {
        { item.record }.times().for_each(|ticks| self.time(item, *ticks));
        item.record.references(|reference| match reference {
            Reference::Text(text) => self.text(item, text),
            Reference::Thread(thread) => self.thread(item, thread),
            Reference::Process(Process::Indexed(index)) => {
                self.thread(item, Thread::Indexed(index));
            }
            Reference::Process(Process::Inline(_)) => {}
        });
        for argument in item.record.arguments().unknown() {
            self.unknown_arguments += 1;
            self.text(item, argument.name);
        }
    }

    #[inline]
    fn text(&mut self, item: &Item<'_>, text: Text<'_>) {
        if let Text::Indexed(index) = text {
            self.string(item, index);
        }
    }

    #[inline]
    fn string(&mut self, item: &Item<'_>, index: u16) {
        self.unknown_strings += u64::from(item.provider.string(index).is_none());
    }

    #[inline]
    fn thread(&mut self, item: &Item<'_>, thread: Thread) {
        if let Thread::Indexed(index) = thread {
            self.unknown_threads += u64::from(item.provider.thread(index).is_none());
        }
    }
}
