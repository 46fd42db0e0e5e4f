//! The layer: slots for the spans of a registry.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Event, Subscriber};
use tracing_subscriber::filter::Filtered;
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use crate::event::{self, Form};
use crate::filter::Recorded;
use crate::slot_table::{self, SlotTable};
use crate::spans::{self, Slots};
use crate::{callsites, thread, watch};

/// Slots of a layer's first table, a power of two.
const SLOTS: usize = 8192;

/// Slots of a layer's last table. Further spans are not recorded.
const MOST_SLOTS: usize = 1 << 20;

/// The number of the newest layer; 0 is the subscriber.
static OWNERS: AtomicU32 = AtomicU32::new(0);

/// Records all spans and events that it receives. [`layer`](crate::layer) creates it together with
/// its filter.
#[derive(Debug)]
pub struct TraceLayer {
    slots: Arc<SlotTable>,
    form: Form,
}

/// A [`TraceLayer`] with the filter [`Recorded`].
pub type FilteredLayer<S> = Filtered<TraceLayer, Recorded, S>;

impl TraceLayer {
    pub(crate) fn filtered<S>(form: Form) -> FilteredLayer<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let owner = OWNERS.fetch_add(1, Ordering::Relaxed) + 1;
        let slots = Arc::new(SlotTable::new(owner, SLOTS, slot_number));
        slot_table::add(&slots);
        watch::recordings();
        Self { slots, form }.with_filter(Recorded::default())
    }

    /// Returns the id of the nearest ancestor that was not filtered out, or 0.
    #[inline]
    fn parent<S>(&self, id: &Id, attributes: &Attributes<'_>, context: &Context<'_, S>) -> u64
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        if attributes.is_contextual() {
            thread::current(self.slots.owner()).unwrap_or(0)
        } else if attributes.is_root() {
            0
        } else {
            let parent = context.span(id).and_then(|span| span.parent());
            parent.map_or(0, |parent| parent.id().into_u64())
        }
    }
}

/// Returns the slot number of a registry's span. Spans of one thread that are open at the same time
/// have adjacent slots. `count` is a power of two.
#[inline]
fn slot_number(id: u64, count: usize) -> usize {
    /// The bits of a registry's id below its generation counter.
    const PLACE: u64 = (1 << 51) - 1;
    /// The number of bits below the thread's number.
    const THREAD: u32 = 38;
    let place = id & PLACE;
    // The factor differs between tables: two ids with one slot in a table have two in the next.
    let first = (place >> THREAD).wrapping_mul(count as u64 / 8 - 3);
    place.wrapping_add(first) as usize & (count - 1)
}

impl<S> Layer<S> for TraceLayer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    #[inline]
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(callsite) = callsites::of(attributes.metadata()) else { return };
        spans::continue_thread(&*self.slots);
        let parent = self.parent(id, attributes, &context);
        let id = id.into_u64();
        if let Some(slot) = self.slots.claim(id, MOST_SLOTS) {
            spans::begin(slot, id, callsite, attributes, parent);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        spans::record(&*self.slots, id.into_u64(), values);
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, _: Context<'_, S>) {
        spans::follow(&*self.slots, id.into_u64(), follows.into_u64());
    }

    #[inline]
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        spans::continue_thread(&*self.slots);
        event::record(event, self.form);
    }

    #[inline]
    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        spans::enter(&*self.slots, id.into_u64());
    }

    #[inline]
    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        spans::exit(&*self.slots, id.into_u64());
    }

    #[inline]
    fn on_close(&self, id: Id, _: Context<'_, S>) {
        spans::close(&*self.slots, id.into_u64());
    }
}
