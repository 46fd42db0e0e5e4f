//! A subscriber of its own, for programs in which nothing else listens to `tracing`: no registry,
//! no filter, and so a fraction of the cost.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use tracing_core::span::{Attributes, Current, Id, Record};
use tracing_core::subscriber::{Interest, Subscriber};
use tracing_core::{Event, LevelFilter, Metadata};

use crate::event::{self, Form};
use crate::homes::{self, Homes};
use crate::slot::Slot;
use crate::spans::{self, Slots};
use crate::{callsite, filter, session, thread};

/// Spans that may be open at the same time; those beyond are not recorded.
const SLOTS: usize = 1 << 20;

/// The id of all spans that are not recorded. No slot has it.
const NOT_RECORDED: u64 = 1 << 63;

/// Records all spans and events of `tracing` whose category is recorded; made by
/// [`subscriber`](crate::subscriber).
#[derive(Debug)]
pub struct TraceSubscriber {
    homes: &'static Homes,
    form: Form,
}

/// The slots of all subscribers of the process, so that ids are unique in it. An id is a use of a
/// slot, and below that its number.
static HOMES: LazyLock<Arc<Homes>> = LazyLock::new(|| {
    let homes = Arc::new(Homes::new(0, SLOTS, home));
    homes::add(&homes);
    homes
});

#[inline]
fn home(id: u64) -> usize {
    id as usize % SLOTS
}

/// Slots from here on were never used. The first is left out, so that no id is 0.
static UNUSED: AtomicUsize = AtomicUsize::new(1);

/// Slots that a thread takes from, or gives back to, all threads at once.
const HANDFUL: usize = 64;

/// Free slots, beside those that threads keep.
static FREE: Mutex<Vec<u32>> = Mutex::new(Vec::new());

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
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = free.len().saturating_sub(HANDFUL);
        self.0.extend(free.drain(kept..));
        if self.0.is_empty() {
            let first = UNUSED.fetch_add(HANDFUL, Ordering::Relaxed);
            // Lower ones are taken first.
            let new = (first.min(SLOTS)..first.saturating_add(HANDFUL).min(SLOTS)).rev();
            self.0.extend(new.filter_map(|slot| u32::try_from(slot).ok()));
        }
        self.0.pop()
    }

    #[inline]
    fn give(&mut self, slot: u32) {
        self.0.push(slot);
        if self.0.len() >= 4 * HANDFUL {
            self.give_back(2 * HANDFUL);
        }
    }

    #[cold]
    fn give_back(&mut self, keep: usize) {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        free.extend(self.0.drain(keep..));
    }
}

impl Drop for Free {
    fn drop(&mut self) {
        self.give_back(0);
    }
}

impl TraceSubscriber {
    pub(crate) fn new(form: Form) -> Self {
        session::watch();
        Self { homes: &HOMES, form }
    }

    /// A free slot, and the id of its next span.
    #[inline]
    fn claim(&self) -> Option<(&Slot, u64)> {
        let place = OWN.try_with(|own| own.try_borrow_mut().ok()?.take()).ok().flatten()?;
        let slot = self.homes.at(place as usize)?;
        Some((slot, slot.next_id(place, SLOTS)))
    }

    fn give(&self, id: u64) {
        let place = home(id) as u32;
        let given = OWN.try_with(|own| own.try_borrow_mut().map(|mut own| own.give(place)).is_ok());
        if given != Ok(true) {
            FREE.lock().unwrap_or_else(PoisonError::into_inner).push(place);
        }
    }

    fn parent(&self, attributes: &Attributes<'_>) -> u64 {
        if attributes.is_contextual() {
            thread::current(self.homes.owner()).unwrap_or(0)
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
        spans::thread_goes_on(self.homes);
        let claimed = callsite::of(attributes.metadata())
            .and_then(|callsite| Some((callsite, self.claim()?)));
        let Some((callsite, (slot, id))) = claimed else { return Id::from_u64(NOT_RECORDED) };
        slot.handles.store(1, Ordering::Relaxed);
        spans::begin(slot, id, callsite, attributes, self.parent(attributes));
        Id::from_u64(id)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        spans::record(self.homes, id.into_u64(), values);
    }

    fn record_follows_from(&self, id: &Id, follows: &Id) {
        spans::follow(self.homes, id.into_u64(), follows.into_u64());
    }

    #[inline]
    fn event(&self, event: &Event<'_>) {
        spans::thread_goes_on(self.homes);
        event::record(event, self.form);
    }

    #[inline]
    fn enter(&self, id: &Id) {
        spans::enter(self.homes, id.into_u64());
    }

    #[inline]
    fn exit(&self, id: &Id) {
        spans::exit(self.homes, id.into_u64());
    }

    fn clone_span(&self, id: &Id) -> Id {
        self.homes.with(id.into_u64(), |slot| slot.handles.fetch_add(1, Ordering::Relaxed));
        id.clone()
    }

    #[inline]
    fn try_close(&self, id: Id) -> bool {
        let id = id.into_u64();
        let is_last = self.homes.with(id, Slot::drop_handle).unwrap_or(false);
        if is_last {
            spans::close(self.homes, id);
            self.give(id);
        }
        is_last
    }

    fn current_span(&self) -> Current {
        let current = thread::current(self.homes.owner());
        let known =
            current.and_then(|id| Some((id, self.homes.with(id, Slot::callsite).flatten()?)));
        known.map_or_else(Current::none, |(id, callsite)| {
            Current::new(Id::from_u64(id), callsite.metadata)
        })
    }
}
