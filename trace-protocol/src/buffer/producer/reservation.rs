//! **The hot path of the buffer**: reserve, commit.

use crate::fence::light_fence;
use crate::sync::Ordering;

use super::interrupted::{here, is_on_signal_stack, BUSY, FRAME, TURN};
use super::publish::Word;
use super::recorder::{Full, Recorder};
use super::slot::Slot;

/// Room for one record, open until [`Reservation::commit`] or [`Reservation::abandon`].
///
/// While it is open its rolling buffer is not handed over: fill it without delay, and without
/// running code of the application.
#[derive(Debug)]
#[must_use = "the slot stays busy until the record is committed or abandoned"]
pub struct Reservation<'a> {
    slot: &'a Slot,
    words: &'a [Word],
    sequence: u64,
}

impl Slot {
    /// Writes a whole record, if it fits. For records whose words are at hand; the caller is the
    /// thread that holds the slot.
    pub fn write(&self, recorder: &Recorder, record: &[u64]) -> bool {
        let (Some((header, payload)), Some(open)) =
            (record.split_first(), self.open(recorder, record.len()))
        else {
            return false;
        };
        for (word, value) in open.words().iter().skip(1).zip(payload) {
            word.store(*value, Ordering::Relaxed);
        }
        open.commit(*header);
        true
    }

    /// Counts records of signal handlers that came before the thread had its slot. The caller is
    /// the thread that holds it now.
    #[cold]
    pub fn count_nested(&self, recorder: &Recorder, number: u32) {
        self.while_busy(|| (0..number).for_each(|_| recorder.lost_nested(self)));
    }

    /// Reserves `words` words for a record, or counts it as lost.
    ///
    /// `None` where the recorder is not recording, where there is no room, and where this thread is
    /// writing a record already (in a signal handler that interrupted a trace point). `words` is at
    /// least 1, and at most what a record can have. The caller is the thread that holds the slot.
    #[inline(always)]
    pub fn open<'a>(&'a self, recorder: &Recorder, words: usize) -> Option<Reservation<'a>> {
        self.open_or(recorder, words, Recorder::lost)
    }

    /// Like [`Slot::open`]; where there is no room, `full` decides what becomes of the record.
    #[inline(always)]
    pub(super) fn open_or<'a>(
        &'a self,
        recorder: &Recorder,
        words: usize,
        full: Full,
    ) -> Option<Reservation<'a>> {
        let here = here();
        match self.enter(here) {
            Some(sequence) => self.open_entered(recorder, words, full, sequence),
            None => self.open_interrupted(recorder, words, full, here),
        }
    }

    /// [`Slot::open_or`] behind [`Slot::enter`], which has returned `sequence`.
    #[inline(always)]
    fn open_entered<'a>(
        &'a self,
        recorder: &Recorder,
        words: usize,
        full: Full,
        sequence: u64,
    ) -> Option<Reservation<'a>> {
        let mut at = self.cursor.load(Ordering::Relaxed);
        if !self.has_room(recorder, at, words) {
            at = recorder.refill(self, words, full);
            if at.is_null() {
                self.close(sequence);
                return None;
            }
        }
        // SAFETY: `at` is the slot's cursor, with so much room behind it, by one of the checks
        // above.
        Some(unsafe { Reservation::at(self, at, words, sequence) })
    }

    /// [`Slot::open_or`] for a slot that is busy: counts the record as lost, unless what made the
    /// slot busy is gone. `here` is in the frame of the trace point.
    #[cold]
    #[inline(never)]
    fn open_interrupted<'a>(
        &'a self,
        recorder: &Recorder,
        words: usize,
        full: Full,
        here: usize,
    ) -> Option<Reservation<'a>> {
        // Without a recording, there is nothing to open.
        let is_silent = recorder.busy_session()?.wake.is_silent();
        if is_silent || !self.is_above(here) || is_on_signal_stack() {
            recorder.lost_nested(self);
            return None;
        }
        self.leave_above(recorder, here);
        self.open_entered(recorder, words, full, self.enter(here)?)
    }

    /// Like [`Slot::open`], if the thread writes no record, and has a chunk of the current epoch
    /// with so much room. `None` otherwise: nothing is counted, and [`Slot::open`] may succeed.
    #[inline(always)]
    pub fn open_direct<'a>(&'a self, recorder: &Recorder, words: usize) -> Option<Reservation<'a>> {
        let sequence = self.enter(here())?;
        let at = self.cursor.load(Ordering::Relaxed);
        if !self.has_room(recorder, at, words) {
            self.close(sequence);
            return None;
        }
        // SAFETY: `at` is the slot's cursor, with so much room behind it, by the check above.
        Some(unsafe { Reservation::at(self, at, words, sequence) })
    }

    /// Makes the slot busy for the frame with the address `here`. Returns its sequence number, or
    /// `None` if it is busy already.
    ///
    /// What the caller decides by the recorder's epoch, it decides behind this.
    #[inline(always)]
    pub(super) fn enter(&self, here: usize) -> Option<u64> {
        let sequence = self.sequence.load(Ordering::Relaxed);
        if sequence & BUSY != 0 {
            return None;
        }
        self.sequence.store(sequence | here as u64 | BUSY, Ordering::Relaxed);
        // Either the service thread sees the store above, or a load behind this sees its new epoch:
        // see `Recorder::quiesce`.
        light_fence();
        Some(sequence)
    }

    /// Whether `words` words fit at the cursor, in a chunk of the current epoch. The slot is busy.
    #[inline(always)]
    fn has_room(&self, recorder: &Recorder, at: *mut Word, words: usize) -> bool {
        recorder.epoch.load(Ordering::Relaxed) == self.epoch.load(Ordering::Relaxed)
            && at.wrapping_add(words) <= self.limit.load(Ordering::Relaxed)
    }

    /// Whether `epoch` is the recorder's; if so, runs `turn` while the rolling buffer of that epoch
    /// cannot be handed over.
    ///
    /// `fence` is [`light_fence`], or a full fence for writers that no `membarrier` reaches. `turn`
    /// stores to the buffer and does nothing else.
    #[inline(always)]
    pub(super) fn while_current(
        &self,
        recorder: &Recorder,
        epoch: u64,
        fence: impl FnOnce(),
        turn: impl FnOnce(),
    ) -> bool {
        self.while_busy(|| {
            fence();
            let current = recorder.epoch.load(Ordering::Relaxed) == epoch;
            if current {
                turn();
            }
            current
        })
    }

    /// Runs `run` with the slot busy. What it decides by the recorder's epoch it decides behind a
    /// fence.
    ///
    /// In a signal handler that interrupted a trace point the slot is busy already, and stays so.
    #[inline(always)]
    pub(super) fn while_busy<T>(&self, run: impl FnOnce() -> T) -> T {
        let sequence = self.sequence.load(Ordering::Relaxed);
        let idle = sequence & !(FRAME | BUSY);
        self.sequence.store(idle | here() as u64 | BUSY, Ordering::Relaxed);
        let result = run();
        match sequence & BUSY {
            0 => self.close(idle),
            _ => self.sequence.store(sequence, Ordering::Release),
        }
        result
    }

    /// Makes the slot idle. Its sequence number was `sequence` before it was busy.
    #[inline(always)]
    pub(super) fn close(&self, sequence: u64) {
        self.sequence.store(sequence.wrapping_add(TURN), Ordering::Release);
    }
}

impl<'a> Reservation<'a> {
    /// # Safety
    /// The slot is busy, since its sequence number was `sequence`. In the current epoch, `at` to
    /// `at + words` lies in the slot's chunk, before its last word.
    #[inline(always)]
    unsafe fn at(slot: &'a Slot, at: *const Word, words: usize, sequence: u64) -> Self {
        // SAFETY: by the contract. The chunk is in a live mapping while the slot is busy in a
        // current epoch, and no other thread has a reference to the words of this thread's chunk.
        let words = unsafe { core::slice::from_raw_parts(at, words) };
        Self { slot, words, sequence }
    }

    /// The words of the record, with the header's at 0, which [`Reservation::commit`] stores.
    #[inline(always)]
    pub fn words(&self) -> &[Word] {
        self.words
    }

    /// Makes the record visible: from here on it survives whatever happens to the process.
    #[inline(always)]
    pub fn commit(self, header: u64) {
        let Self { slot, words, sequence } = self;
        let at = words.as_ptr().cast_mut();
        let end = at.wrapping_add(words.len());
        // SAFETY: `end` is at most the chunk's last word, which is in the mapping, by the check in
        // `Slot::open`.
        unsafe { &*end }.store(0, Ordering::Relaxed);
        // SAFETY: `at` is the record's first word.
        unsafe { &*at }.store(header, Ordering::Release);
        slot.cursor.store(end, Ordering::Relaxed);
        slot.close(sequence);
    }

    /// Gives the words behind the first ones back.
    #[inline(always)]
    pub(super) fn shortened(self, words: usize) -> Self {
        Self { words: self.words.get(..words).unwrap_or(self.words), ..self }
    }

    #[inline(always)]
    pub(super) fn slot(&self) -> &'a Slot {
        self.slot
    }

    /// Gives the room back.
    #[inline(always)]
    pub fn abandon(self) {
        self.slot.close(self.sequence);
    }

    /// Has the duration of the scope that begins with this record passed on at its end: see
    /// [`OpenScope::end`](super::OpenScope::end).
    #[inline(always)]
    pub fn watch(&self) {
        self.slot.watch_scopes(true);
    }

    /// Has the duration of the scope that begins with this record not passed on, also if it begins
    /// in a watched one.
    #[inline(always)]
    pub fn unwatch(&self) {
        self.slot.watch_scopes(false);
    }

    /// The epoch that the record belongs to, as [`OpenScope`](super::OpenScope) keeps it.
    #[inline(always)]
    pub(super) fn epoch(&self) -> u64 {
        self.slot.scope_epoch.load(Ordering::Relaxed)
    }
}
