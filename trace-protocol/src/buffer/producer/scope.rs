//! A scope that is open: a duration begin in the buffer that becomes a duration complete when the
//! scope ends.

use core::ptr;

use trace_format::layout::{event, record, EventType, StringRef};

use crate::buffer::function::FunctionWord;
use crate::buffer::header::BufferingMode;
use crate::fence::light_fence;
use crate::sync::{fence, Ordering};

use super::interrupted::here;
use super::publish::Word;
use super::recorder::{Recorder, SLOW};
use super::reservation::Reservation;
use super::slot::{Slot, FUNCTION, WATCHED};

/// The mark of a duration complete whose begin may be in the trace as well: the word behind it, for
/// a begin in the rolling buffer of this wrapped count.
pub(crate) fn late_mark(wrapped_count: u32) -> u64 {
    u64::from(wrapped_count) + 1
}

/// Returns the wrapped count of a [`late_mark`], if it is one.
pub(crate) fn wrapped_count_of_mark(untrusted: u64) -> Option<u32> {
    u32::try_from(untrusted.checked_sub(1)?).ok()
}

/// The duration of a watched scope or operation that has ended.
#[derive(Clone, Copy, Debug)]
pub struct WatchedDuration<'a> {
    /// The string refs of the category, in the low half, and of the name.
    pub names: u32,
    /// The duration, in ticks.
    pub ticks: u64,
    recorder: &'a Recorder,
    epoch: u64,
}

impl<'a> WatchedDuration<'a> {
    /// Returns the duration of an operation that began in `recording`, as
    /// [`Recorder::recording`] numbers them. `header` is that of a record with its names.
    pub fn of_operation(header: u64, ticks: u64, recorder: &'a Recorder, recording: u64) -> Self {
        // A recording has the number of its first epoch.
        Self { names: names(header), ticks, recorder, epoch: recording }
    }

    /// Returns the names of a duration with the names of this header.
    pub fn names_of(header: u64) -> u32 {
        names(header)
    }

    /// Whether the recording of the scope goes on: the refs of another one may have other strings.
    pub fn is_current(&self) -> bool {
        // What the caller has loaded was loaded before the epoch.
        fence(Ordering::Acquire);
        let Self { recorder, epoch, .. } = *self;
        recorder.is_recording() && recorder.has_recorded(epoch)
    }
}

/// Takes the duration of a watched scope.
pub type Watch = fn(WatchedDuration<'_>);

/// Words of a begin that has an argument: header, timestamp, argument, and the spare word.
const LEAST_WITH_ARGUMENT: usize = 4;

/// What the end of a scope needs to know of its beginning: 32 bytes on the stack of the thread that
/// is in it.
///
/// Nothing in it is borrowed. If it is forgotten, the scope stays open in the trace.
#[derive(Debug)]
#[repr(C)]
pub struct OpenScope {
    /// The header in the buffer; null where the beginning was not recorded. It comes first, for
    /// other languages to look at.
    pub(super) at: *const Word,
    /// What is stored there; of a scope with a function record, the word of its site.
    pub(super) header: u64,
    /// With [`FUNCTION`] if the scope has a function record.
    pub(super) epoch: u64,
    pub(super) start: u64,
}

impl OpenScope {
    /// A scope that is not recorded.
    pub const NOT_RECORDED: Self = Self { at: ptr::null(), header: 0, epoch: 0, start: 0 };

    /// Whether the beginning was recorded.
    #[inline(always)]
    pub fn is_recorded(&self) -> bool {
        !self.at.is_null()
    }

    /// Returns the timestamp of the beginning, if that was recorded.
    #[inline]
    pub fn start(&self) -> Option<u64> {
        self.is_recorded().then_some(self.start)
    }

    /// Commits a duration begin whose last word is spare: it stays 0 until the scope ends.
    ///
    /// `header` is that of a duration begin with the record's size, `start` its timestamp.
    #[inline(always)]
    pub fn begin(open: Reservation<'_>, header: u64, start: u64) -> Self {
        let (at, epoch) = (open.words().as_ptr(), open.epoch());
        if let Some(spare) = open.words().last() {
            spare.store(0, Ordering::Relaxed);
        }
        open.commit(header);
        Self { at, header, epoch, start }
    }

    /// Ends the scope: the begin becomes a duration complete, or, if its rolling buffer was handed
    /// over, a record of its own follows.
    ///
    /// `slot` is the calling thread's; the thread is the one that began the scope. Does nothing if
    /// the recording is over. The duration of a scope that is
    /// [watched](super::Reservation::watch) is passed to `watch`, after its record is written.
    #[inline(always)]
    pub fn end(&self, slot: &Slot, recorder: &Recorder, clock: impl Fn() -> u64, watch: Watch) {
        if !self.end_direct(slot, recorder, || Some(clock()), &clock) {
            self.end_late(slot, recorder, clock(), watch);
        }
    }

    /// Ends the scope, if its rolling buffer is the current one, and the scope is not watched.
    /// `false` otherwise: nothing has changed, and [`OpenScope::end_late`] ends it.
    ///
    /// `clock` may refuse. `call_clock` is the clock of scopes with function records.
    #[inline(always)]
    pub fn end_direct(
        &self,
        slot: &Slot,
        recorder: &Recorder,
        clock: impl FnOnce() -> Option<u64>,
        call_clock: impl FnOnce() -> u64,
    ) -> bool {
        let Some(sequence) = slot.enter(here()) else { return false };
        let epoch = recorder.epoch.load(Ordering::Relaxed);
        let is_ended = if epoch == self.epoch {
            clock().map(|now| self.turn(now, None)).is_some()
        } else if epoch | FUNCTION == self.epoch {
            self.end_call(call_clock());
            true
        } else {
            false
        };
        slot.close(sequence);
        is_ended
    }

    /// Ends the scope like [`OpenScope::end`], with another last argument than it began with. Its
    /// duration is not passed on.
    ///
    /// `argument` is the whole argument, one word, and so is the last one of the begin. Who sees
    /// the scope ended sees this argument. A record that follows because the rolling buffer was
    /// handed over has it as its only one.
    #[inline(always)]
    pub fn end_with(
        &self,
        argument: u64,
        slot: &Slot,
        recorder: &Recorder,
        clock: impl Fn() -> u64,
    ) {
        let turn = || self.turn(clock(), Some(argument));
        if !slot.while_current(recorder, self.epoch, light_fence, turn) {
            self.end_late_with(slot, recorder, clock(), Some(argument), |_| {});
        }
    }

    #[inline(always)]
    fn turn(&self, end: u64, argument: Option<u64>) {
        let words = record::Size::get(self.header) as usize;
        let spare = self.at.wrapping_add(words - 1);
        let header = event::EventType::set(self.header, EventType::DurationComplete.bits());
        // SAFETY: the record is in a rolling buffer that is not handed over while the slot is busy
        // in its epoch, so that it is mapped; `spare` is the last of its words.
        unsafe { &*spare }.store(end, Ordering::Relaxed);
        if let (Some(argument), LEAST_WITH_ARGUMENT..) = (argument, words) {
            // SAFETY: as above; the record has the word before `spare`, since it has so many.
            unsafe { &*spare.wrapping_sub(1) }.store(argument, Ordering::Relaxed);
        }
        // SAFETY: as above; `at` is the first of its words.
        unsafe { &*self.at }.store(header, Ordering::Release);
    }

    /// Ends the scope like [`OpenScope::end`], at the time `now`, which has passed.
    #[cold]
    pub fn end_late(&self, slot: &Slot, recorder: &Recorder, now: u64, watch: Watch) {
        self.end_late_with(slot, recorder, now, None, watch);
    }

    #[cold]
    #[inline(never)]
    fn end_late_with(
        &self,
        slot: &Slot,
        recorder: &Recorder,
        now: u64,
        argument: Option<u64>,
        watch: Watch,
    ) {
        let epoch = self.epoch & !(SLOW | WATCHED | FUNCTION);
        if !self.turn_late(slot, recorder, epoch, now, argument) {
            if !recorder.has_recorded(epoch) {
                // Of an earlier recording, or of the process that this one was forked from.
                return;
            }
            self.end_behind(slot, recorder, epoch, now, argument);
        }
        if self.epoch & WATCHED != 0 {
            slot.watch_scopes(false);
            let ticks = now.saturating_sub(self.start);
            watch(WatchedDuration { names: names(self.header), ticks, recorder, epoch });
        }
    }

    /// Turns the begin of a scope that takes the slow path, is watched, or ends in a signal handler
    /// that interrupted a record. Returns whether its rolling buffer is still the current one.
    #[inline(always)]
    fn turn_late(
        &self,
        slot: &Slot,
        recorder: &Recorder,
        epoch: u64,
        now: u64,
        argument: Option<u64>,
    ) -> bool {
        let turn = || match self.epoch & FUNCTION {
            0 => self.turn(now, argument),
            _ => self.end_call(now),
        };
        match self.epoch & SLOW {
            0 => slot.while_current(recorder, epoch, light_fence, turn),
            _ => slot.while_current(recorder, epoch, || fence(Ordering::SeqCst), turn),
        }
    }

    /// Writes what follows a begin that does not change any more.
    ///
    /// Which record that is depends on the epoch of the begin, not on the mode: a circular
    /// recording may begin to stream meanwhile.
    fn end_behind(
        &self,
        slot: &Slot,
        recorder: &Recorder,
        epoch: u64,
        now: u64,
        argument: Option<u64>,
    ) {
        match recorder.mode() {
            Some(BufferingMode::Oneshot) | None => {}
            Some(BufferingMode::Streaming | BufferingMode::Circular) => {
                match epoch >= recorder.streams_from.load(Ordering::Relaxed) {
                    true => self.write_end(slot, recorder, epoch, now, argument),
                    false => self.write_complete(slot, recorder, epoch, now, argument),
                }
            }
        }
    }

    /// The begin is, or will be, in the archive: its end follows.
    fn write_end(
        &self,
        slot: &Slot,
        recorder: &Recorder,
        epoch: u64,
        now: u64,
        argument: Option<u64>,
    ) {
        let header = self.header_of(EventType::DurationEnd, 2, argument);
        slot.write_end(recorder, epoch, [header, now, argument.unwrap_or(0)]);
    }

    /// The begin may be overwritten: a record of the complete scope follows, without the arguments
    /// of its begin.
    fn write_complete(
        &self,
        slot: &Slot,
        recorder: &Recorder,
        epoch: u64,
        now: u64,
        argument: Option<u64>,
    ) {
        let header = self.header_of(EventType::DurationComplete, 4, argument);
        let Some(open) = slot.open(recorder, record::Size::get(header) as usize) else { return };
        // The slot is busy, so the recording cannot change.
        if !recorder.has_recorded(epoch) {
            return open.abandon();
        }
        let mark = late_mark(recorder.wrapped_count(epoch));
        let values = [Some(self.start), argument, Some(now), Some(mark)];
        for (word, value) in open.words().iter().skip(1).zip(values.into_iter().flatten()) {
            word.store(value, Ordering::Relaxed);
        }
        open.commit(header);
    }

    /// The header of the begin as an event.
    fn event_header(&self) -> u64 {
        let function = FunctionWord::of_site(self.header).filter(|_| self.epoch & FUNCTION != 0);
        function.map_or(self.header, FunctionWord::event_header)
    }

    /// The header for another record of the same scope; inline strings, which are gone, become
    /// empty.
    fn header_of(&self, event_type: EventType, words: u64, argument: Option<u64>) -> u64 {
        let kept = |bits: u64| match StringRef::from_bits(bits as u16).inline_bytes() {
            Some(_) => 0,
            None => bits,
        };
        let arguments = u64::from(argument.is_some());
        let header = record::Size::set(self.event_header(), words + arguments);
        let header = event::EventType::set(header, event_type.bits());
        let header = event::ArgumentCount::set(header, arguments);
        let header = event::CategoryRef::set(header, kept(event::CategoryRef::get(header)));
        event::NameRef::set(header, kept(event::NameRef::get(header)))
    }
}

/// The string refs of the category, in the low half, and of the name, in a header.
fn names(header: u64) -> u32 {
    let category = event::CategoryRef::get(header) as u32;
    category | (event::NameRef::get(header) as u32) << 16
}
