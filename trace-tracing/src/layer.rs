//! The layer: slots beside a registry's spans.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Event, Subscriber};
use tracing_subscriber::filter::Filtered;
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use crate::event::{self, Form};
use crate::filter::Recorded;
use crate::slot::Slot;
use crate::slot_table::{self, SlotTable};
use crate::spans::{self, Slots};
use crate::{callsites, thread, watch};

/// Slots that are found without the registry. Further spans have their slots in the registry's
/// extensions.
const SLOTS: usize = 8192;

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

    #[inline]
    fn slots<'a, S>(&'a self, context: Context<'a, S>) -> LayerSlots<'a, S> {
        LayerSlots { slots: &self.slots, context }
    }
}

/// Returns the slot number of a registry's span. Spans of one thread that are open at the same time
/// have adjacent slots.
#[inline]
fn slot_number(id: u64) -> usize {
    /// The bits of a registry's id below its generation counter.
    const PLACE: u64 = (1 << 51) - 1;
    /// The number of bits below the thread's number.
    const THREAD: u32 = 38;
    let place = id & PLACE;
    place.wrapping_add((place >> THREAD).wrapping_mul(1021)) as usize % SLOTS
}

/// The slots of a layer, and those in its registry.
struct LayerSlots<'a, S> {
    slots: &'a SlotTable,
    context: Context<'a, S>,
}

impl<S> Slots for LayerSlots<'_, S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn owner(&self) -> u32 {
        self.slots.owner()
    }

    #[inline]
    fn with<R>(&self, id: u64, act: impl FnOnce(&Slot) -> R) -> Option<R> {
        match self.slots.of(id) {
            Some(slot) if slot.is_of(id) => Some(act(slot)),
            _ => self.with_extension(id, act),
        }
    }
}

impl<S> LayerSlots<'_, S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    #[cold]
    fn with_extension<R>(&self, id: u64, act: impl FnOnce(&Slot) -> R) -> Option<R> {
        let span = self.context.span(&Id::from_u64(id))?;
        let extensions = span.extensions();
        extensions.get::<Extension>().filter(|slot| slot.0.is_of(id)).map(|slot| act(&slot.0))
    }

    /// Returns the id of the nearest ancestor that was not filtered out, or 0.
    #[inline]
    fn parent(&self, id: &Id, attributes: &Attributes<'_>) -> u64 {
        if attributes.is_contextual() {
            thread::current(self.owner()).unwrap_or(0)
        } else if attributes.is_root() {
            0
        } else {
            let parent = self.context.span(id).and_then(|span| span.parent());
            parent.map_or(0, |parent| parent.id().into_u64())
        }
    }
}

/// The slot of a span whose slot number was taken.
struct Extension(Box<Slot>);

impl<S> Layer<S> for TraceLayer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    #[inline]
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(callsite) = callsites::of(attributes.metadata()) else { return };
        let slots = self.slots(context);
        spans::continue_thread(&slots);
        let parent = slots.parent(id, attributes);
        let number = id.into_u64();
        match self.slots.of(number) {
            Some(slot) if slot.claim() => spans::begin(slot, number, callsite, attributes, parent),
            _ => {
                let slot = Box::<Slot>::default();
                spans::begin(&slot, number, callsite, attributes, parent);
                if let Some(span) = slots.context.span(id) {
                    span.extensions_mut().replace(Extension(slot));
                }
            }
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        spans::record(&self.slots(context), id.into_u64(), values);
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, context: Context<'_, S>) {
        spans::follow(&self.slots(context), id.into_u64(), follows.into_u64());
    }

    #[inline]
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        spans::continue_thread(&self.slots(context));
        event::record(event, self.form);
    }

    #[inline]
    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        spans::enter(&self.slots(context), id.into_u64());
    }

    #[inline]
    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        spans::exit(&self.slots(context), id.into_u64());
    }

    #[inline]
    fn on_close(&self, id: Id, context: Context<'_, S>) {
        spans::close(&self.slots(context), id.into_u64());
    }
}
