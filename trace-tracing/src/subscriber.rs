//! A subscriber without a registry and a filter, for programs without other layers: it costs a
//! fraction of the layer.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use once_cell::race::OnceBox;
use trace_runtime::context::SignalLock;
use tracing_core::span::{Attributes, Current, Id, Record};
use tracing_core::subscriber::{Interest, Subscriber};
use tracing_core::{Event, LevelFilter, Metadata};

use crate::event::{self, Form};
use crate::slot::Slot;
use crate::slot_table::{self, SlotTable};
use crate::spans::{self, Slots};
use crate::{callsites, filter, thread, watch};

/// The most spans that can be open at the same time. Further ones are not recorded.
const SLOTS: usize = 1 << 20;

/// The id of all spans that are not recorded. No slot has this id.
const NOT_RECORDED: u64 = 1 << 63;

/// Records all spans and events of `tracing` whose category is recorded.
/// [`subscriber`](crate::subscriber) creates it.
#[derive(Debug)]
pub struct TraceSubscriber {
    slots: &'static SlotTable,
    form: Form,
}

/// The slots of all subscribers of the process, so that ids are unique in it. The upper bits of an
/// id count the uses of a slot, the lower bits are its number.
static SLOT_TABLE: OnceBox<Arc<SlotTable>> = OnceBox::new();

fn shared_slots() -> &'static SlotTable {
    SLOT_TABLE.get_or_init(|| {
        let slots = Arc::new(SlotTable::new(0, SLOTS, |id, _| slot_number(id)));
        slot_table::add(&slots);
        Box::new(slots)
    })
}

#[inline]
fn slot_number(id: u64) -> usize {
    id as usize % SLOTS
}

/// The first slot that was never used. Slot 0 is never used, so that no id is 0.
static UNUSED: AtomicUsize = AtomicUsize::new(1);

/// The number of slots that a thread takes from the shared list, or returns to it, at once.
const BATCH: usize = 64;

/// The shared list of free slots.
static FREE: SignalLock<Vec<u32>> = SignalLock::new(Vec::new());

/// Free slots of a thread.
#[derive(Debug, Default)]
struct Free(Vec<u32>);

thread_local! {
    static OWN: RefCell<Free> = RefCell::default();
}

impl Free {
    #[inline]
    fn take(&mut self) -> Option<u32> {
        self.0.pop().or_else(|| self.refill())
    }

    #[cold]
    fn refill(&mut self) -> Option<u32> {
        if let Some(mut free) = FREE.lock_unless_nested() {
            let kept = free.len().saturating_sub(BATCH);
            self.0.extend(free.drain(kept..));
        }
        if self.0.is_empty() {
            let first = UNUSED.fetch_add(BATCH, Ordering::Relaxed);
            // Lower numbers are taken first.
            let new = (first.min(SLOTS)..first.saturating_add(BATCH).min(SLOTS)).rev();
            self.0.extend(new.filter_map(|slot| u32::try_from(slot).ok()));
        }
        self.0.pop()
    }

    #[inline]
    fn give(&mut self, slot: u32) {
        self.0.push(slot);
        if self.0.len() >= 4 * BATCH {
            self.give_back(2 * BATCH);
        }
    }

    #[cold]
    fn give_back(&mut self, keep: usize) {
        if let Some(mut free) = FREE.lock_unless_nested() {
            free.extend(self.0.drain(keep..));
        }
    }
}

impl Drop for Free {
    fn drop(&mut self) {
        self.give_back(0);
    }
}

impl TraceSubscriber {
    pub(crate) fn new(form: Form) -> Self {
        watch::recordings();
        Self { slots: shared_slots(), form }
    }

    /// Returns a free slot, and the id of its next span.
    #[inline]
    fn claim(&self) -> Option<(&Slot, u64)> {
        let place = OWN.try_with(|own| own.try_borrow_mut().ok()?.take()).ok().flatten()?;
        let slot = self.slots.at(place as usize)?;
        Some((slot, slot.next_id(place, SLOTS)))
    }

    /// Returns a slot to the free ones. It stays unused if a signal handler does so while its
    /// thread uses both lists.
    fn give(&self, id: u64) {
        let place = slot_number(id) as u32;
        let is_kept =
            OWN.try_with(|own| own.try_borrow_mut().map(|mut own| own.give(place)).is_ok());
        if is_kept != Ok(true) {
            if let Some(mut free) = FREE.lock_unless_nested() {
                free.push(place);
            }
        }
    }

    fn parent(&self, attributes: &Attributes<'_>) -> u64 {
        if attributes.is_contextual() {
            thread::current(self.slots.owner()).unwrap_or(0)
        } else {
            attributes.parent().map_or(0, Id::into_u64)
        }
    }
}

impl Subscriber for TraceSubscriber {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        filter::interest(metadata)
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        filter::is_recorded(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(filter::max_level())
    }

    #[inline]
    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        spans::continue_thread(self.slots);
        let claimed = callsites::of(attributes.metadata())
            .and_then(|callsite| Some((callsite, self.claim()?)));
        let Some((callsite, (slot, id))) = claimed else { return Id::from_u64(NOT_RECORDED) };
        slot.handles.store(1, Ordering::Relaxed);
        spans::begin(slot, id, callsite, attributes, self.parent(attributes));
        Id::from_u64(id)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        spans::record(self.slots, id.into_u64(), values);
    }

    fn record_follows_from(&self, id: &Id, follows: &Id) {
        spans::follow(self.slots, id.into_u64(), follows.into_u64());
    }

    #[inline]
    fn event(&self, event: &Event<'_>) {
        spans::continue_thread(self.slots);
        event::record(event, self.form);
    }

    #[inline]
    fn enter(&self, id: &Id) {
        spans::enter(self.slots, id.into_u64());
    }

    #[inline]
    fn exit(&self, id: &Id) {
        spans::exit(self.slots, id.into_u64());
    }

    fn clone_span(&self, id: &Id) -> Id {
        self.slots.with(id.into_u64(), |slot| slot.handles.fetch_add(1, Ordering::Relaxed));
        id.clone()
    }

    #[inline]
    fn try_close(&self, id: Id) -> bool {
        let id = id.into_u64();
        let is_last = self.slots.with(id, Slot::drop_handle).unwrap_or(false);
        if is_last {
            spans::close(self.slots, id);
            self.give(id);
        }
        is_last
    }

    fn current_span(&self) -> Current {
        let current = thread::current(self.slots.owner());
        let known =
            current.and_then(|id| Some((id, self.slots.with(id, Slot::callsite).flatten()?)));
        known.map_or_else(Current::none, |(id, callsite)| {
            Current::new(Id::from_u64(id), callsite.metadata)
        })
    }
}
