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

/// Slots that are found without a look into the registry. What has no place there is kept in the
/// registry's extensions.
const SLOTS: usize = 8192;

/// The number of the last layer; 0 is the subscriber.
static OWNERS: AtomicU32 = AtomicU32::new(0);

/// Records the spans and events that it is given; made by [`layer`](crate::layer), with the filter
/// that it needs.
#[derive(Debug)]
pub struct TraceLayer {
    slots: Arc<SlotTable>,
    form: Form,
}

/// A [`TraceLayer`] that is given what is [`Recorded`], and nothing else.
pub type FilteredLayer<S> = Filtered<TraceLayer, Recorded, S>;

impl TraceLayer {
    pub(crate) fn filtered<S>(form: Form) -> FilteredLayer<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let owner = OWNERS.fetch_add(1, Ordering::Relaxed) + 1;
        let slots = Arc::new(SlotTable::new(owner, SLOTS, home));
        slot_table::add(&slots);
        watch::recordings();
        Self { slots, form }.with_filter(Recorded::default())
    }

    #[inline]
    fn slots<'a, S>(&'a self, context: Context<'a, S>) -> Looked<'a, S> {
        Looked { slots: &self.slots, context }
    }
}

/// The home of a span of a registry: spans of one thread that are open at the same time have
/// neighbours.
#[inline]
fn home(id: u64) -> usize {
    /// Bits below those in which a registry counts how often it has used a place.
    const PLACE: u64 = (1 << 51) - 1;
    /// Bits below those in which it has the thread.
    const THREAD: u32 = 38;
    let place = id & PLACE;
    place.wrapping_add((place >> THREAD).wrapping_mul(1021)) as usize % SLOTS
}

/// The slots of a layer, and those in its registry.
struct Looked<'a, S> {
    slots: &'a SlotTable,
    context: Context<'a, S>,
}

impl<S> Slots for Looked<'_, S>
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

impl<S> Looked<'_, S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    #[cold]
    fn with_extension<R>(&self, id: u64, act: impl FnOnce(&Slot) -> R) -> Option<R> {
        let span = self.context.span(&Id::from_u64(id))?;
        let extensions = span.extensions();
        extensions.get::<Extension>().filter(|slot| slot.0.is_of(id)).map(|slot| act(&slot.0))
    }

    /// The id of the nearest ancestor that was not filtered out, or 0.
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

/// The slot of a span whose home was taken.
struct Extension(Box<Slot>);

impl<S> Layer<S> for TraceLayer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    #[inline]
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(callsite) = callsites::of(attributes.metadata()) else { return };
        let slots = self.slots(context);
        spans::thread_goes_on(&slots);
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
        spans::thread_goes_on(&self.slots(context));
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
