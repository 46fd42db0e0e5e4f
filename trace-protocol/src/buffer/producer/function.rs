//! Scopes as function records: an entry when the scope begins, an exit when it ends.
//!
//! Both are records like any other, so an exit needs no look at the entry, and may be in a later
//! chunk.

use crate::buffer::function::{base_before, base_record, FunctionWord, RelativeTicks};
use crate::buffer::header::BufferingMode;
use crate::sync::Ordering;

use trace_format::layout::{event, record, EventType};

use super::recorder::{Full, Recorder, SLOW};
use super::reservation::Reservation;
use super::scope::OpenScope;
use super::slot::{Slot, FUNCTION};

impl OpenScope {
    /// Begins a scope with an entry, in the first word of a reservation of two at least.
    ///
    /// Only in a recording whose buffer permits function records.
    #[inline(always)]
    pub fn enter(
        open: Reservation<'_>,
        function: FunctionWord,
        recorder: &Recorder,
        clock: impl Fn() -> u64,
    ) -> Self {
        let (slot, start) = (open.slot(), clock());
        let Some(ticks) = slot.relative(start) else {
            return Self::enter_late(slot, function, recorder, start);
        };
        // A signal handler behind the commit may go on in another chunk.
        let scope = Self::entered(slot, function, start);
        open.commit_first(function.entry(ticks));
        scope
    }

    /// A scope whose entry is in the chunk that the slot has. The slot is busy.
    #[inline(always)]
    fn entered(slot: &Slot, function: FunctionWord, start: u64) -> Self {
        Self {
            at: slot.cursor.load(Ordering::Relaxed),
            header: function.bits(),
            epoch: slot.epoch.load(Ordering::Relaxed) | FUNCTION,
            start,
        }
    }

    /// Begins the scope behind another base, and closes the reservation.
    #[cold]
    #[inline(never)]
    fn enter_late(slot: &Slot, function: FunctionWord, recorder: &Recorder, start: u64) -> Self {
        let record = |ticks| function.entry(ticks);
        let begun = slot.chunk_epoch();
        // The buffer of another recording may permit no function records.
        let may = |_| recorder.recording() <= begun;
        let entered = slot.append_function(recorder, start, Recorder::lost, may, record);
        let scope = entered.map(|()| Self::entered(slot, function, start));
        slot.leave();
        scope.unwrap_or(Self::NOT_RECORDED)
    }

    /// Ends a scope that began with an entry.
    #[inline(never)]
    pub(super) fn exit(&self, slot: &Slot, recorder: &Recorder, clock: impl Fn() -> u64) {
        let Some(function) = FunctionWord::of_site(self.header) else { return };
        if slot.is_busy() && !recorder.has_recorded(self.epoch_of_entry()) {
            // The recording that is over does not lack the exit.
            return;
        }
        match slot.open_or(recorder, 1, no_loss) {
            Some(open) => {
                let now = clock();
                let is_same_epoch = slot.chunk_epoch() == self.epoch_of_entry();
                if let (true, Some(ticks)) = (is_same_epoch, slot.relative(now)) {
                    return open.commit_first(function.exit(ticks));
                }
                open.abandon();
                self.exit_late(slot, recorder, function, now);
            }
            None if slot.is_busy() => {}
            None => self.exit_late(slot, recorder, function, clock()),
        }
    }

    /// Ends the scope if its entry is in an earlier epoch, another base is needed, or there is no
    /// room.
    #[cold]
    #[inline(never)]
    fn exit_late(&self, slot: &Slot, recorder: &Recorder, function: FunctionWord, now: u64) {
        let epoch = self.epoch_of_entry();
        if !recorder.has_recorded(epoch) {
            // Of an earlier recording, or of the process that this one was forked from.
            return;
        }
        let Some(mode) = recorder.mode() else { return };
        // The entry may be overwritten. A record of the whole scope follows then.
        let only_there = mode == BufferingMode::Circular;
        let written = slot.write_exit(recorder, function, now, epoch, only_there);
        if written.is_some() || !recorder.has_recorded(epoch) {
            return;
        }
        let scope = Self { header: function.event_header(), epoch, ..*self };
        match mode {
            BufferingMode::Circular => scope.write_complete(slot, recorder, now, None),
            BufferingMode::Streaming | BufferingMode::Oneshot => {
                slot.keep_end(recorder, [scope.end_header(), now, 0])
            }
        }
    }

    fn epoch_of_entry(&self) -> u64 {
        self.epoch & !(FUNCTION | SLOW)
    }

    fn end_header(&self) -> u64 {
        let header = event::EventType::set(self.header, EventType::DurationEnd.bits());
        record::Size::set(header, 2)
    }
}

impl Slot {
    #[inline(always)]
    fn relative(&self, ticks: u64) -> Option<RelativeTicks> {
        RelativeTicks::new(ticks, self.base.load(Ordering::Relaxed))
    }

    /// Writes the exit of a scope with its entry in `epoch`, if there is room, only in the
    /// recording of that epoch, and `only_there` in the epoch itself.
    fn write_exit(
        &self,
        recorder: &Recorder,
        function: FunctionWord,
        now: u64,
        epoch: u64,
        only_there: bool,
    ) -> Option<()> {
        let open = self.open_or(recorder, 1, no_loss)?;
        let may = |now_in| {
            (recorder.recording()..=now_in).contains(&epoch) && (!only_there || now_in == epoch)
        };
        let exit = |ticks| function.exit(ticks);
        let written = self.append_function(recorder, now, no_loss, may, exit);
        open.abandon();
        written
    }

    /// Writes a function record, with a base before it if its ticks do not fit. `None`, after
    /// `full`, if there is no room. The slot is busy.
    ///
    /// To find room, the slot may go on in another epoch, or even in another recording. `may` says
    /// whether the record may be in the epoch that it would then be in. `None` if not.
    fn append_function(
        &self,
        recorder: &Recorder,
        now: u64,
        full: Full,
        may: impl Fn(u64) -> bool,
        record: impl Fn(RelativeTicks) -> u64,
    ) -> Option<()> {
        if recorder.refill(self, 2, full).is_null() || !may(self.chunk_epoch()) {
            return None;
        }
        if self.relative(now).is_none() {
            let base = base_before(now);
            self.append(&[base_record(base)])?;
            self.base.store(base, Ordering::Relaxed);
        }
        self.append(&[record(self.relative(now)?)])
    }
}

/// The caller counts the loss, if there is one.
fn no_loss(
    _: &Recorder,
    _: &Slot,
    _: &super::session::RecorderSession,
    _: super::loss::LossReason,
) {
}
