//! The cold half of a slot: its chunk, the records that make a chunk decode by itself, and the
//! losses it reports.

use core::ptr::null_mut;

use trace_format::layout::{
    argument, event, event_header, record, thread, ArgumentType, EventType, InstantScope,
    RecordType, StringRef, ThreadRef,
};

use crate::buffer::function;
use crate::buffer::header::BufferingMode;
use crate::sync::{fence, Ordering};

use super::backoff::Backoff;
use super::durable::DurableWriter;
use super::interrupted::BUSY;
use super::loss::{Loss, LossReason};
use super::publish::{publish_record, Word};
use super::recorder::{Full, Recorder, SLOW};
use super::session::{Chunk, RecorderSession, CHUNK_THREAD, THREAD_RECORD_WORDS};
use super::slot::Slot;

impl Slot {
    /// Units that this slot's next chunk should have: more for a thread that fills its chunks,
    /// fewer for one that does not.
    pub(super) fn preferred_units(&self, epoch: u64) -> u32 {
        let units = self.units.load(Ordering::Relaxed);
        let filled = self.chunk_epoch() == epoch;
        (if filled { units.saturating_mul(2) } else { units / 2 }).max(1)
    }

    /// Makes `chunk` the slot's. The first record in it has yet to name the thread.
    pub(super) fn install(&self, epoch: u64, chunk: &Chunk<'_>) {
        let range = chunk.words.as_ptr_range();
        self.cursor.store(range.start.cast_mut(), Ordering::Relaxed);
        self.limit.store(range.end.wrapping_sub(1).cast_mut(), Ordering::Relaxed);
        self.chunk_thread.store(0, Ordering::Relaxed);
        self.units.store(chunk.units, Ordering::Relaxed);
        self.set_epoch(epoch | SLOW);
    }

    /// Forgets the chunk and the losses: their buffer is about to go away.
    pub(super) fn forget_buffer(&self) {
        self.forget_chunk();
        self.losses.forget();
    }

    /// Forgets the chunk: the next record has another one.
    pub(super) fn forget_chunk(&self) {
        self.set_epoch(0);
        self.cursor.store(null_mut(), Ordering::Relaxed);
        self.limit.store(null_mut(), Ordering::Relaxed);
        self.chunk_thread.store(0, Ordering::Relaxed);
    }

    /// Whether there is a record at the cursor, which the thread has committed and not passed over.
    /// The slot is busy.
    pub(super) fn has_committed(&self) -> bool {
        // SAFETY: the pointer is null, or that to a word of the chunk, whose memory stays while the
        // slot is busy.
        let word = unsafe { self.cursor.load(Ordering::Relaxed).as_ref() };
        word.is_some_and(|word| word.load(Ordering::Relaxed) != 0)
    }

    pub(super) fn chunk_epoch(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed) & !SLOW
    }

    /// Where `words` words go in the chunk that the slot has, if it is of this epoch and they fit.
    ///
    /// Names the thread and reports losses first, where that is due.
    pub(super) fn room_in_chunk(
        &self,
        recorder: &Recorder,
        session: &RecorderSession,
        epoch: u64,
        words: usize,
    ) -> Option<*mut Word> {
        if self.chunk_epoch() != epoch {
            return None;
        }
        self.name_thread(session)?;
        self.write_kept_ends();
        self.report_losses(recorder, session, words);
        let at = self.cursor.load(Ordering::Relaxed);
        if at.wrapping_add(words) > self.limit.load(Ordering::Relaxed) {
            return None;
        }
        if recorder.asymmetric.load(Ordering::Relaxed) != 0 {
            self.set_epoch(epoch);
        }
        Some(at)
    }

    fn name_thread(&self, session: &RecorderSession) -> Option<()> {
        let owner = self.thread.load(Ordering::Relaxed);
        if self.chunk_thread.load(Ordering::Relaxed) != owner {
            let header = record::Type::make(RecordType::Thread.bits())
                | record::Size::make(THREAD_RECORD_WORDS as u64)
                | thread::Index::make(u64::from(CHUNK_THREAD.bits()));
            let base = match session.layout.has_function_records() {
                true => function::base_before((session.clock)()),
                false => 0,
            };
            let opening = [header, session.process, owner.into(), function::base_record(base)];
            self.append(opening.get(..session.opening_words())?)?;
            self.base.store(base, Ordering::Relaxed);
            self.chunk_thread.store(owner, Ordering::Relaxed);
        }
        Some(())
    }

    /// Writes the end of a duration that began in `epoch`, of so many of the words as its header
    /// says, or keeps it until there is room. Does nothing if the recording of `epoch` is over.
    pub(super) fn write_end(&self, recorder: &Recorder, epoch: u64, end: [u64; 3]) {
        let full: Full = |_, _, _, _| {};
        match self.open_or(recorder, end_words(&end), full) {
            // The slot is busy from here on, so the recording cannot change.
            Some(open) if !recorder.has_recorded(epoch) => open.abandon(),
            Some(open) => {
                for (word, value) in open.words().iter().zip(end).skip(1) {
                    word.store(value, Ordering::Relaxed);
                }
                open.commit(end[0]);
            }
            None if self.sequence.load(Ordering::Relaxed) & BUSY != 0 => {} // Counted.
            None => self.keep_end(recorder, epoch, end),
        }
    }

    /// Keeps an end that found no room, or, where there are too many, counts it as lost. Does
    /// nothing if the recording of `epoch` is over.
    fn keep_end(&self, recorder: &Recorder, epoch: u64, end: [u64; 3]) {
        self.while_busy(|| {
            fence(Ordering::SeqCst);
            let is_recording = recorder.is_recording();
            // The first epoch of a recording is loaded after one of its epochs.
            fence(Ordering::Acquire);
            let is_current = is_recording && recorder.has_recorded(epoch);
            if is_current && !self.ends.keep(end) {
                self.lose_while_busy(recorder, 1);
            }
        });
    }

    /// Counts the ends that a thread which ends has not come to write.
    pub(super) fn lose_ends(&self, recorder: &Recorder) {
        let kept = self.ends.kept();
        if kept != 0 {
            self.ends.clear();
            self.lose(recorder, kept);
        }
    }

    fn lose(&self, recorder: &Recorder, number: usize) {
        self.while_busy(|| {
            fence(Ordering::SeqCst);
            self.lose_while_busy(recorder, number);
        });
    }

    /// Counts lost ends. The slot is busy, and its store is ordered by a fence.
    fn lose_while_busy(&self, recorder: &Recorder, number: usize) {
        let Some(session) = recorder.session(recorder.epoch.load(Ordering::Acquire)) else {
            return;
        };
        let reason = match recorder.mode() {
            Some(BufferingMode::Oneshot) => LossReason::BufferFull,
            Some(BufferingMode::Circular) => LossReason::InUse,
            Some(BufferingMode::Streaming) | None => LossReason::NotSaved,
        };
        (0..number).for_each(|_| recorder.lost(self, session, reason));
    }

    /// Writes the ends that were kept, if they fit all.
    fn write_kept_ends(&self) {
        if self.ends.kept() == 0 {
            return;
        }
        if self.room() >= self.ends.records().map(|end| end_words(&end)).sum() {
            let written =
                self.ends.records().all(|end| self.append(&end[..end_words(&end)]).is_some());
            debug_assert!(written, "there was room for all of them");
            self.ends.clear();
        }
    }

    /// Reports what was lost, as long as `words` words fit behind the event.
    fn report_losses(&self, recorder: &Recorder, session: &RecorderSession, words: usize) {
        while !self.losses.is_empty() && self.room() >= LOSS_RECORD_WORDS + words {
            let Some(loss) = self.losses.take() else { return };
            let event = loss_record(session, self.thread(), &loss, (session.clock)());
            let written = self.append(&event);
            debug_assert!(written.is_some(), "the loop's condition left room for it");
            recorder.reported(session, &loss);
        }
    }

    /// Writes the ends that were kept to the durable buffer, where the thread has to be named in
    /// the record. Service thread only, while stopped.
    pub(super) fn write_ends_to(
        &self,
        recorder: &Recorder,
        durable: &mut DurableWriter,
        session: &RecorderSession,
    ) {
        for end in self.ends.records() {
            let (words, [header, ticks, argument]) = (end_words(&end) + 2, end);
            let header = event::ThreadRef::set(
                record::Size::set(header, words as u64),
                u64::from(ThreadRef::INLINE.bits()),
            );
            let end = [header, ticks, session.process, u64::from(self.thread()), argument];
            if durable.append(&end[..words]).is_err() {
                recorder.lost(self, session, LossReason::NotSaved);
            }
        }
        self.ends.clear();
    }

    fn room(&self) -> usize {
        let (cursor, limit) =
            (self.cursor.load(Ordering::Relaxed), self.limit.load(Ordering::Relaxed));
        (limit as usize).saturating_sub(cursor as usize) / size_of::<Word>()
    }

    /// Writes a whole record to the chunk, if it fits. The slot is busy.
    pub(super) fn append(&self, record: &[u64]) -> Option<()> {
        if self.room() < record.len() {
            return None;
        }
        let at = self.cursor.load(Ordering::Relaxed);
        // SAFETY: the chunk, which this thread owns, has room for the record and, at `limit`, the
        // zero word behind it.
        let words = unsafe { core::slice::from_raw_parts(at, record.len() + 1) };
        publish_record(words, record);
        self.cursor.store(at.wrapping_add(record.len()), Ordering::Relaxed);
        Some(())
    }

    /// Waits until the owner has left the trace point it may be in, as long as `backoff` has
    /// patience. Service thread only.
    pub(super) fn wait_until_quiescent(&self, backoff: &mut Backoff) -> bool {
        let seen = self.sequence.load(Ordering::Acquire);
        while seen & BUSY != 0 && self.sequence.load(Ordering::Acquire) == seen {
            if !backoff.wait() {
                return false;
            }
        }
        true
    }

    /// Discards the name and the ends of an earlier recording.
    pub(super) fn forget_recording(&self) {
        self.set_named(0);
        self.ends.clear();
    }
}

/// Words of a duration end: 2, or 3 with an argument.
fn end_words(end: &[u64; 3]) -> usize {
    (record::Size::get(end[0]) as usize).clamp(2, end.len())
}

/// Words of a loss record.
const LOSS_RECORD_WORDS: usize = 12;

/// The instant event that reports a loss. Its thread is inline, as in all such events.
fn loss_record(
    session: &RecorderSession,
    thread: u32,
    loss: &Loss,
    now: u64,
) -> [u64; LOSS_RECORD_WORDS] {
    let strings = &session.loss_strings;
    let [reason, number, from, to] = strings.keys;
    let value = argument::ValueRef::make(u64::from(strings.reasons[loss.reason as usize].bits()));
    [
        event_header(
            EventType::Instant,
            LOSS_RECORD_WORDS,
            4,
            ThreadRef::INLINE,
            strings.category,
            strings.name,
        ),
        now,
        session.process,
        u64::from(thread),
        argument_header(ArgumentType::String, 1, reason) | value,
        argument_header(ArgumentType::Uint64, 2, number),
        loss.number,
        argument_header(ArgumentType::Uint64, 2, from),
        loss.from,
        argument_header(ArgumentType::Uint64, 2, to),
        now,
        InstantScope::Thread.bits(),
    ]
}

fn argument_header(kind: ArgumentType, words: u64, key: StringRef) -> u64 {
    argument::Type::make(kind.bits())
        | argument::Size::make(words)
        | argument::NameRef::make(u64::from(key.bits()))
}
