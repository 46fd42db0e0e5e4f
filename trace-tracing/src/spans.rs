//! The life of a span, whoever keeps its slot.

use std::sync::atomic::Ordering;

use trace_runtime::context::{scope, Value};
use trace_runtime::{trace_nonce, Scope, Timestamp};
use tracing_core::span::{Attributes, Record};

use crate::callsite::{Callsite, MAX_ARGUMENTS};
use crate::session;
use crate::slot::Slot;
use crate::thread::{self, Key};
use crate::values::{with_spare, Collector, Values};

/// How many ancestors get a track because of one span.
const MAX_ANCESTORS: usize = 64;

/// Finds the slots of spans.
pub(crate) trait Slots {
    /// Which layer it is: [`Key::owner`].
    fn owner(&self) -> u32;

    /// Calls `act` with the slot of a span, if it is open. `act` runs no code of the application.
    fn with<R>(&self, id: u64, act: impl FnOnce(&Slot) -> R) -> Option<R>;
}

/// Begins the life of span `id` in its slot, which was taken for it.
#[inline]
pub(crate) fn begin(
    slot: &Slot,
    id: u64,
    callsite: &'static Callsite,
    attributes: &Attributes<'_>,
    parent: u64,
) {
    let created = Timestamp::now().ticks();
    slot.has_values.store(false, Ordering::Relaxed);
    if !callsite.keys().is_empty() && callsite.point.is_on() {
        take_values(slot, callsite, attributes);
    }
    slot.begin(id, callsite, parent, created);
}

#[inline]
fn take_values(slot: &Slot, callsite: &'static Callsite, attributes: &Attributes<'_>) {
    with_spare(|values| {
        attributes.record(&mut Collector::new(callsite, values));
        if !values.is_empty() {
            std::mem::swap(values, &mut *slot.values());
            slot.has_values.store(true, Ordering::Relaxed);
        }
    });
}

/// A thread enters a span: a duration begins.
#[inline]
pub(crate) fn enter(slots: &impl Slots, id: u64) {
    thread_goes_on(slots);
    let entered = slots.with(id, |slot| {
        let callsite = slot.callsite()?;
        slot.is_inside.store(true, Ordering::Relaxed);
        let again = slot.was_entered.load(Ordering::Relaxed);
        if again {
            return Some((callsite.point, None));
        }
        slot.was_entered.store(true, Ordering::Relaxed);
        Some((callsite.point, Some(begin_duration(slot, callsite))))
    });
    let Some((point, scope)) = entered.flatten() else { return };
    let scope = scope.unwrap_or_else(|| {
        show_track(slots, id);
        point.begin(&[])
    });
    thread::enter(Key { owner: slots.owner(), id }, point, scope);
}

/// The first duration of a span has its values.
#[inline]
fn begin_duration(slot: &Slot, callsite: &Callsite) -> trace_runtime::DurationScope {
    if slot.has_values.load(Ordering::Relaxed) {
        callsite.point.begin(&slot.values().arguments())
    } else {
        callsite.point.begin(&[])
    }
}

/// A thread leaves a span: the duration ends. Without effect on a thread that is not in the span.
#[inline]
pub(crate) fn exit(slots: &impl Slots, id: u64) {
    let key = Key { owner: slots.owner(), id };
    if !thread::exit(key) {
        return;
    }
    let has_track = slots.with(id, |slot| {
        slot.is_inside.store(false, Ordering::Relaxed);
        slot.has_track_of_any_session()
    });
    if has_track == Some(false) {
        thread::remember_left(key);
    }
}

/// A span is over. Its slot is free after this.
#[inline]
pub(crate) fn close(slots: &impl Slots, id: u64) {
    let was_left = thread::forget_left(Key { owner: slots.owner(), id });
    // It has a track nevertheless if another thread was in it meanwhile.
    let is_synchronous = was_left && slots.with(id, |slot| slot.refuse_track(id)) == Some(true);
    if !is_synchronous {
        end_track(slots, id);
    }
    slots.with(id, Slot::release);
}

/// Values of a span came later.
#[cold]
pub(crate) fn record(slots: &impl Slots, id: u64, record: &Record<'_>) {
    let Some(callsite) = slots.with(id, Slot::callsite).flatten() else { return };
    if !callsite.point.is_on() {
        return;
    }
    with_spare(|newer| {
        record.record(&mut Collector::new(callsite, newer));
        slots.with(id, |slot| add(slot, id, callsite, newer));
    });
}

/// Keeps values for the records that are still to come, and tells them at once if the first one was
/// already written.
fn add(slot: &Slot, id: u64, callsite: &'static Callsite, newer: &Values) {
    if newer.is_empty() {
        return;
    }
    if slot.has_track(id, session::number()) {
        let track = slot.track.load(Ordering::Relaxed);
        callsite.track().recorded.write(&newer.arguments(), &[track]);
    } else if slot.was_entered.load(Ordering::Relaxed) {
        callsite.track().moment.write(&newer.arguments(), &[scope(Scope::Thread)]);
    }
    let mut values = slot.values();
    if !slot.has_values.load(Ordering::Relaxed) {
        values.reset(callsite);
    }
    values.merge(newer);
    slot.has_values.store(true, Ordering::Relaxed);
}

/// A span follows from another one: told on its track.
#[cold]
pub(crate) fn follow(slots: &impl Slots, id: u64, follows: u64) {
    let (track, followed) = (show_track(slots, id), show_track(slots, follows));
    if let (Some(track), Some(followed), Some(callsite)) =
        (track, followed, slots.with(id, Slot::callsite).flatten())
    {
        callsite.track().follows.write(&[Value::Uint64(followed)], &[track]);
    }
}

/// The thread does something else than leaving and ending spans: those that it left are not over.
#[inline]
pub(crate) fn thread_goes_on(slots: &impl Slots) {
    while let Some(left) = thread::take_left(slots.owner()) {
        show_track(slots, left);
    }
}

/// Has the track of an open span begin, if it has not, and those of its ancestors. Returns its id;
/// `None` while it is not recorded.
///
/// The oldest one comes first, and the lock of one slot is over before that of the next one is
/// taken: the slot of a parent that was closed before its child may be that of the child's own
/// child now.
pub(crate) fn show_track(slots: &impl Slots, id: u64) -> Option<u64> {
    let mut chain = [0; MAX_ANCESTORS];
    let mut length = 0;
    let mut next = id;
    for place in &mut chain {
        if next == 0 {
            break;
        }
        *place = next;
        length += 1;
        next = slots.with(next, |slot| parent_to_show(slot, next)).flatten().unwrap_or(0);
    }
    let oldest_first = chain.iter().take(length).rev();
    oldest_first.fold(None, |parent, id| show(slots, *id, parent))
}

/// The parent of a span, if it is needed to show the span.
fn parent_to_show(slot: &Slot, id: u64) -> Option<u64> {
    slot.parent_of(id).filter(|_| !slot.has_track(id, session::number()))
}

/// Has the track of a span begin, if it has not, below the track of its parent.
fn show(slots: &impl Slots, id: u64, parent: Option<u64>) -> Option<u64> {
    let show = |slot: &Slot| {
        // Who ends the track comes through here first, and so waits until its beginning is written.
        let values = slot.values();
        let callsite = slot.callsite().filter(|callsite| callsite.track().begin.is_on())?;
        if slot.track.load(Ordering::Relaxed) == 0 {
            slot.track.store(trace_nonce!(), Ordering::Relaxed);
        }
        if slot.begin_track(id, session::number())? {
            let values = slot.has_values.load(Ordering::Relaxed).then_some(&*values);
            write_begin(slot, callsite, values, parent);
        }
        Some(slot.track.load(Ordering::Relaxed))
    };
    slots.with(id, show).flatten()
}

fn write_begin(slot: &Slot, callsite: &Callsite, values: Option<&Values>, parent: Option<u64>) {
    let mut arguments = values.map_or([Value::Omitted; MAX_ARGUMENTS], Values::arguments);
    let place = callsite.keys().len().min(MAX_ARGUMENTS - 1);
    if let Some(argument) = arguments.get_mut(place) {
        *argument = parent.map_or(Value::Omitted, Value::Uint64);
    }
    let created = Timestamp::from_ticks(slot.created.load(Ordering::Relaxed));
    let track = slot.track.load(Ordering::Relaxed);
    callsite.track().begin.write_at(created, &arguments, &[track]);
}

fn end_track(slots: &impl Slots, id: u64) {
    show_track(slots, id);
    let end = |slot: &Slot| {
        let _values = slot.values();
        let callsite = slot.callsite()?;
        if slot.end_track(id, session::number()) {
            callsite.track().end.write(&[], &[slot.track.load(Ordering::Relaxed)]);
        }
        Some(())
    };
    slots.with(id, end);
}
