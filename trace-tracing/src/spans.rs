//! The life of a span, for the layer and the subscriber.

use std::sync::atomic::Ordering;

use trace_runtime::context::spans::{polled_task, recording};
use trace_runtime::context::{scope, Value};
use trace_runtime::{trace_nonce, DurationScope, InstantScope, Timestamp};
use tracing_core::span::{Attributes, Record};

use crate::callsite::{Callsite, DROPPED, MAX_ARGUMENTS};
use crate::poll::Poll;
use crate::session;
use crate::slot::{Outer, Slot};
use crate::thread::{self, Key, Left};
use crate::values::{with_spare, ValueVisitor, Values};

/// The most ancestors that get a track with one span.
const MAX_ANCESTORS: usize = 64;

/// Finds the slots of spans.
pub(crate) trait Slots {
    /// Returns the layer's number: [`Key::owner`].
    fn owner(&self) -> u32;

    /// Calls `act` with the slot of a span, if it is open. `act` runs no code of the application.
    fn with<R>(&self, id: u64, act: impl FnOnce(&Slot) -> R) -> Option<R>;
}

/// Begins span `id` in its slot, which the caller has taken.
#[inline]
pub(crate) fn begin(
    slot: &Slot,
    id: u64,
    callsite: &'static Callsite,
    attributes: &Attributes<'_>,
    parent: u64,
) {
    let outer = outer(attributes, parent);
    let created = Timestamp::now().ticks();
    slot.has_values.store(false, Ordering::Relaxed);
    if !callsite.keys().is_empty() && callsite.point.is_on() {
        take_values(slot, callsite, attributes);
    }
    slot.begin(id, callsite, outer, created);
}

#[inline]
fn outer(attributes: &Attributes<'_>, span: u64) -> Outer {
    // Before the task, so that a task of a later recording does not get this number.
    let recording = recording();
    match polled_task().filter(|_| attributes.is_contextual()) {
        Some(task) => Outer { span, task, session: session::number_of(recording) },
        None => Outer { span, task: 0, session: 0 },
    }
}

#[inline]
fn take_values(slot: &Slot, callsite: &'static Callsite, attributes: &Attributes<'_>) {
    with_spare(|values| {
        attributes.record(&mut ValueVisitor::new(callsite, values));
        if !values.is_empty() {
            if let Some(mut own) = slot.values() {
                std::mem::swap(values, &mut *own);
                slot.has_values.store(true, Ordering::Relaxed);
            }
        }
    });
}

/// A thread enters a span: a duration begins.
#[inline]
pub(crate) fn enter(slots: &impl Slots, id: u64) {
    continue_thread(slots);
    let entered = slots.with(id, |slot| {
        slot.is_inside.store(true, Ordering::Relaxed);
        Some((slot.callsite()?, slot.count_poll()))
    });
    let Some((callsite, number)) = entered.flatten() else { return };
    if number > 1 {
        callsite.set_async();
    }
    let is_async = callsite.is_async();
    let track = if is_async { show_track(slots, id) } else { None };
    let poll = Poll { callsite, number, track };
    let scope = slots.with(id, |slot| {
        match Some(slot).filter(|slot| number == 1 && slot.has_values()).and_then(Slot::values) {
            Some(values) => poll.begin(&values.arguments()),
            None => poll.begin(&[]),
        }
    });
    let scope = scope.unwrap_or(DurationScope::NOT_RECORDED);
    thread::enter(Key { owner: slots.owner(), id }, poll, scope);
}

/// A thread leaves a span: the duration ends. Has no effect if the thread is not in the span.
#[inline]
pub(crate) fn exit(slots: &impl Slots, id: u64) {
    let Some(left) = thread::exit(Key { owner: slots.owner(), id }) else { return };
    let has_track = slots.with(id, |slot| {
        slot.is_inside.store(false, Ordering::Relaxed);
        slot.has_track_of_any_session()
    });
    match has_track {
        Some(true) if left.poll.number == 1 => bind_first(slots, &left),
        Some(_) => thread::remember_left(left),
        None => {}
    }
}

/// A span closes. Its slot is free afterwards.
#[inline]
pub(crate) fn close(slots: &impl Slots, id: u64) {
    let left = thread::forget_left(Key { owner: slots.owner(), id });
    let was_left = left.is_some_and(|left| left.poll.number == 1);
    // The span has a track if another thread was in it meanwhile.
    let is_synchronous = was_left && slots.with(id, |slot| slot.refuse_track(id)) == Some(true);
    if !is_synchronous {
        end_track(slots, id, left);
    }
    slots.with(id, Slot::release);
}

/// Records further values of an open span.
#[cold]
pub(crate) fn record(slots: &impl Slots, id: u64, record: &Record<'_>) {
    let Some(callsite) = slots.with(id, Slot::callsite).flatten() else { return };
    if !callsite.point.is_on() {
        return;
    }
    with_spare(|newer| {
        record.record(&mut ValueVisitor::new(callsite, newer));
        slots.with(id, |slot| add(slot, id, callsite, newer));
    });
}

/// Keeps values for later records of the span. If its first record is already written, or the
/// values cannot be kept, records them at once.
fn add(slot: &Slot, id: u64, callsite: &'static Callsite, newer: &Values) {
    if newer.is_empty() {
        return;
    }
    let values = slot.values();
    if slot.has_track(id, session::number()) {
        callsite.track().recorded.write(&newer.arguments(), &[slot.track()]);
    } else if slot.polls() > 0 || values.is_none() {
        callsite.track().moment.write(&newer.arguments(), &[scope(InstantScope::Thread)]);
    }
    let Some(mut values) = values else { return };
    if !slot.has_values() {
        values.reset(callsite);
    }
    values.merge(newer);
    slot.has_values.store(true, Ordering::Relaxed);
}

/// Records on a span's track that it follows from another one.
#[cold]
pub(crate) fn follow(slots: &impl Slots, id: u64, follows: u64) {
    let (track, followed) = (show_track(slots, id), show_track(slots, follows));
    if let (Some(track), Some(followed), Some(callsite)) =
        (track, followed, slots.with(id, Slot::callsite).flatten())
    {
        callsite.track().follows.write(&[Value::Uint64(followed)], &[track]);
    }
}

/// The thread continues with something other than leaving or closing spans: the spans that it has
/// left are asynchronous.
#[inline]
pub(crate) fn continue_thread(slots: &impl Slots) {
    while let Some(left) = thread::take_left(slots.owner()) {
        left.poll.callsite.set_async();
        bind_first(slots, &left);
    }
}

/// Binds the first poll of a span to its track, if the poll began before the span had a track.
fn bind_first(slots: &impl Slots, left: &Left) {
    if left.poll.number == 1 && left.poll.track.is_none() {
        if let Some(track) = show_track(slots, left.key.id) {
            bind(left, track, &[Value::Uint32(1)]);
        }
    }
}

/// Writes an instant on the track at the start of a poll's duration, which connects them.
fn bind(left: &Left, track: u64, arguments: &[Value<'_>]) {
    if let Some(start) = left.start {
        left.poll.callsite.track().bound.write_at(start, arguments, &[track]);
    }
}

/// Begins the track of an open span, and those of its ancestors, if they have none. Returns the
/// track's id, or `None` if the span is not recorded.
///
/// The oldest ancestor comes first. The lock of one slot is released before the next one is taken:
/// if a parent was closed before its child, its slot may now belong to the child's own child.
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

/// Returns the parent of a span, if its track must begin before the span's.
fn parent_to_show(slot: &Slot, id: u64) -> Option<u64> {
    slot.parent_of(id).filter(|_| !slot.has_track(id, session::number()))
}

/// Begins the track of a span below that of its parent, if it has none.
fn show(slots: &impl Slots, id: u64, parent: Option<u64>) -> Option<u64> {
    let show = |slot: &Slot| {
        // The thread that ends the track takes this lock too, so it waits until the begin is
        // written.
        let values = slot.values();
        let callsite = slot.callsite().filter(|callsite| callsite.track().begin.is_on())?;
        let created = Timestamp::from_ticks(slot.created.load(Ordering::Relaxed));
        let recording = recording();
        let session = session::number_of(recording);
        let parent = slot.task(session).or(parent);
        let values = values.as_deref().filter(|_| slot.has_values());
        let track = slot.track_or(|| trace_nonce!());
        // From here on the slot may belong to another span.
        if slot.begin_track(id, session)? {
            let arguments = begin_arguments(callsite, values, parent);
            callsite.track().begin.write_in(recording, created, &arguments, track);
        }
        Some(track)
    };
    slots.with(id, show).flatten()
}

fn begin_arguments<'a>(
    callsite: &Callsite,
    values: Option<&'a Values>,
    parent: Option<u64>,
) -> [Value<'a>; MAX_ARGUMENTS] {
    let mut arguments = values.map_or([Value::Omitted; MAX_ARGUMENTS], Values::arguments);
    let place = callsite.keys().len().min(MAX_ARGUMENTS - 1);
    if let Some(argument) = arguments.get_mut(place) {
        *argument = parent.map_or(Value::Omitted, Value::Uint64);
    }
    arguments
}

/// Ends the track of a span that closes. If the thread has just left the span as the last one, and
/// had entered it again, `Instrument` has dropped the future: that was no poll.
fn end_track(slots: &impl Slots, id: u64, left: Option<Left>) {
    // Spans that have a track already are asynchronous only if they were entered again.
    let first = |slot: &Slot| slot.callsite().filter(|_| !slot.has_track_of_any_session());
    if let Some(callsite) = slots.with(id, first).flatten() {
        callsite.set_async();
    }
    show_track(slots, id);
    let polls = slots.with(id, Slot::polls);
    let is_drop = |left: &Left| left.poll.number > 1 && Some(left.poll.number) == polls;
    let dropped = left.filter(is_drop);
    if let Some(left) = left.filter(|_| dropped.is_none()) {
        bind_first(slots, &left);
    }
    if let Some(ended) = slots.with(id, |slot| end_begun(slot, id, dropped)).flatten() {
        ended.compare();
    }
}

/// A track that has ended.
struct Ended {
    callsite: &'static Callsite,
    recording: u64,
    created: Timestamp,
    closed: Timestamp,
}

impl Ended {
    /// Compares the time of the span with conditions. Without a lock: this may wake a thread.
    fn compare(self) {
        let Self { callsite, recording, created, closed } = self;
        callsite.track().begin.compare(recording, created, closed);
    }
}

/// Writes the end of the track of a span, if its begin was written in the current session.
/// `dropped` is the entry in which the future was dropped.
fn end_begun(slot: &Slot, id: u64, dropped: Option<Left>) -> Option<Ended> {
    let _values = slot.values();
    let callsite = slot.callsite()?;
    let recording = recording();
    if !slot.end_track(id, session::number_of(recording)) {
        return None;
    }
    let track = slot.track();
    if let Some(left) = dropped {
        bind(&left, track, &[Value::Omitted, DROPPED]);
    }
    let polls = slot.polls().saturating_sub(u32::from(dropped.is_some()));
    let created = Timestamp::from_ticks(slot.created.load(Ordering::Relaxed));
    let closed = Timestamp::now();
    callsite.track().end.write_in(recording, closed, &[Value::Uint32(polls)], track);
    Some(Ended { callsite, recording, created, closed })
}
