//! Scopes as function records: a call of two words, whose second one is the time of the end.
//!
//! The end of a call in the current epoch is one store, as that of any scope, and needs no space.
//! Later ends are those of other scopes.

use crate::buffer::function::{base_before, base_record, FunctionWord, RelativeTicks, CALL_WORDS};
use crate::sync::Ordering;

use super::reservation::Reservation;
use super::scope::OpenScope;
use super::slot::Slot;

impl OpenScope {
    /// Begins a scope with a function record, in a reservation of three words at least.
    ///
    /// Only in a recording whose buffer permits function records.
    #[inline(always)]
    pub fn enter(
        open: Reservation<'_>,
        function: FunctionWord,
        clock: impl FnOnce() -> u64,
    ) -> Self {
        let start = clock();
        match open.slot().relative(start) {
            Some(ticks) => Self::entered(open, function.call(ticks), function, start),
            None => Self::enter_behind_base(open, function, start),
        }
    }

    /// Begins a scope like [`OpenScope::enter`]. `None`, and the reservation is given back, if it
    /// needs another base.
    #[inline(always)]
    pub fn enter_direct(
        open: Reservation<'_>,
        function: FunctionWord,
        clock: impl FnOnce() -> u64,
    ) -> Option<Self> {
        let start = clock();
        match open.slot().relative(start) {
            Some(ticks) => Some(Self::entered(open, function.call(ticks), function, start)),
            None => {
                open.abandon();
                None
            }
        }
    }

    #[inline(always)]
    fn entered(open: Reservation<'_>, call: u64, function: FunctionWord, start: u64) -> Self {
        let open = open.shortened(CALL_WORDS);
        if let Some(end) = open.words().last() {
            end.store(0, Ordering::Relaxed);
        }
        // A signal handler behind the commit may go on in another chunk.
        let (at, epoch) = (open.words().as_ptr(), open.slot().call_epoch.load(Ordering::Relaxed));
        open.commit(call);
        Self { at, header: function.bits(), epoch, start }
    }

    /// Begins the scope behind another base. Both records are committed at once.
    #[cold]
    #[inline(never)]
    fn enter_behind_base(open: Reservation<'_>, function: FunctionWord, start: u64) -> Self {
        let slot = open.slot();
        let open = open.shortened(1 + CALL_WORDS);
        let [_, call, end] = open.words() else {
            open.abandon();
            return Self::NOT_RECORDED;
        };
        call.store(function.call(RelativeTicks::behind_base(start)), Ordering::Relaxed);
        end.store(0, Ordering::Relaxed);
        let base = base_before(start);
        slot.base.store(base, Ordering::Relaxed);
        let epoch = slot.call_epoch.load(Ordering::Relaxed);
        let scope = Self { at: call, header: function.bits(), epoch, start };
        open.commit(base_record(base));
        scope
    }

    /// Stores the end of a call. The slot is busy in its epoch.
    #[inline(always)]
    pub(super) fn end_call(&self, end: u64) {
        // SAFETY: the record is in a rolling buffer that is not handed over while the slot is busy
        // in its epoch, so that it is mapped; it has this word.
        unsafe { &*self.at.wrapping_add(CALL_WORDS - 1) }.store(end, Ordering::Relaxed);
    }
}

impl Slot {
    #[inline(always)]
    fn relative(&self, ticks: u64) -> Option<RelativeTicks> {
        RelativeTicks::new(ticks, self.base.load(Ordering::Relaxed))
    }
}
