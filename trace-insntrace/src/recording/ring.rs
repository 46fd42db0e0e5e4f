//! The newest packets of traces, until someone wants to see them.

use std::collections::{BTreeMap, VecDeque};

use super::note::{Note, TraceId};
use super::unused;

/// The most traces of ended threads, and the most bytes of their packets together.
const MAX_ENDED: usize = 256;
const MAX_ENDED_BYTES: usize = 64 << 20;

/// The most memory of the notes that are in use.
const MAX_NOTE_BYTES: u64 = 64 << 20;

/// How much memory notes take before those that are not in use are removed.
const MIN_NOTE_BYTES: u64 = 4 << 20;

/// Keeps the newest packets of each trace, and the notes to decode them. Of ended threads the last
/// ones are kept.
#[derive(Debug)]
pub struct Ring {
    /// The most bytes of a trace.
    bytes: usize,
    notes: Vec<Note>,
    note_bytes: u64,
    /// The memory of the notes from which on those that are not in use are removed.
    remove_from: u64,
    is_full: bool,
    traces: BTreeMap<TraceId, Kept>,
    /// The kept traces that have ended, the oldest first.
    ended: VecDeque<TraceId>,
    dropped: u64,
}

#[derive(Debug, Default)]
struct Kept {
    packets: VecDeque<u8>,
    /// The number of bytes that are no longer there.
    lost: u64,
}

impl Ring {
    /// Creates a ring of at most `bytes` for each trace.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Self {
            bytes,
            notes: Vec::new(),
            note_bytes: 0,
            remove_from: MIN_NOTE_BYTES,
            is_full: false,
            traces: BTreeMap::new(),
            ended: VecDeque::new(),
            dropped: 0,
        }
    }

    /// Appends a note.
    pub fn note(&mut self, note: Note) {
        match &note {
            Note::Thread { trace, .. } => {
                self.traces.entry(*trace).or_default();
            }
            Note::End { trace, .. } => {
                self.ended.push_back(*trace);
                self.drop_ended();
            }
            _ => {}
        }
        self.note_bytes += note.bytes();
        self.notes.push(note);
        if self.note_bytes >= self.remove_from {
            self.remove_unused();
            self.remove_from = (2 * self.note_bytes).max(MIN_NOTE_BYTES);
            self.is_full |= self.note_bytes > MAX_NOTE_BYTES;
        }
    }

    /// Returns whether the notes that are in use take too much memory.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Returns the number of traces of ended threads that are no longer there.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Appends packets over the oldest ones of their trace. A trace begins with the note about its
    /// thread.
    pub fn packets(&mut self, trace: TraceId, packets: &[u8]) {
        let Some(kept) = self.traces.get_mut(&trace) else { return };
        kept.packets.extend(packets);
        let excess = kept.packets.len().saturating_sub(self.bytes);
        kept.packets.drain(..excess);
        kept.lost += excess as u64;
        if self.ended.contains(&trace) {
            // Its last packets.
            self.drop_ended();
        }
    }

    /// Drops the oldest traces of ended threads, if there are too many.
    fn drop_ended(&mut self) {
        let size = |trace| self.traces.get(trace).map_or(0, |kept: &Kept| kept.packets.len());
        let mut bytes: usize = match self.ended.len() > 1 {
            true => self.ended.iter().map(size).sum(),
            false => return,
        };
        while self.ended.len() > MAX_ENDED || bytes > MAX_ENDED_BYTES && self.ended.len() > 1 {
            let Some(oldest) = self.ended.pop_front() else { return };
            let kept = self.traces.remove(&oldest);
            bytes -= kept.map_or(0, |kept| kept.packets.len());
            self.dropped += 1;
        }
    }

    fn remove_unused(&mut self) {
        let lost = self.lost();
        unused::remove(&mut self.notes, &lost);
        self.note_bytes = self.notes.iter().map(Note::bytes).sum();
    }

    fn lost(&self) -> BTreeMap<TraceId, u64> {
        self.traces.iter().map(|(trace, kept)| (*trace, kept.lost)).collect()
    }

    /// Returns the notes and the packets of now, as those of a recording.
    #[must_use]
    pub fn snapshot(&mut self) -> (Vec<Note>, Vec<(TraceId, Vec<u8>)>) {
        self.remove_unused();
        let packets = |(trace, kept): (&TraceId, &Kept)| {
            (*trace, kept.packets.iter().copied().collect::<Vec<_>>())
        };
        (since(self.notes.clone(), &self.lost()), self.traces.iter().map(packets).collect())
    }
}

/// Returns the notes for traces that have lost this number of their first bytes.
///
/// Of the positions in the lost bytes of a trace only the last one is kept: it has the code at the
/// beginning.
pub(crate) fn since(notes: Vec<Note>, lost: &BTreeMap<TraceId, u64>) -> Vec<Note> {
    let lost_of = |trace: &TraceId| lost.get(trace).copied().unwrap_or(0);
    let first = unused::first_positions(&notes, |trace| Some(lost_of(trace)));
    let moved = notes.into_iter().enumerate().filter_map(|(index, note)| match note {
        Note::Position { trace, .. } if first.get(&trace).is_some_and(|it| index < *it) => None,
        Note::Position { trace, offset, space } => {
            Some(Note::Position { trace, offset: offset.saturating_sub(lost_of(&trace)), space })
        }
        note => Some(note),
    });
    moved.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{Mapping, SpaceId, ThreadEnd};

    const ONE: TraceId = TraceId(1);

    fn at(trace: TraceId, offset: u64, space: u32) -> Note {
        Note::Position { trace, offset, space: SpaceId(space) }
    }

    #[test]
    fn positions_in_lost_bytes_move_to_the_beginning() {
        let at = |offset, space| at(ONE, offset, space);
        let code = Note::Code { space: SpaceId(0), address: 1, bytes: vec![1] };
        let notes = vec![at(0, 0), at(10, 1), code.clone(), at(20, 2), at(30, 3)];
        let since = |lost| since(notes.clone(), &BTreeMap::from([(ONE, lost)]));
        assert_eq!(since(0), notes);
        assert_eq!(since(19), [at(0, 1), code.clone(), at(1, 2), at(11, 3)]);
        assert_eq!(since(20), [code.clone(), at(0, 2), at(10, 3)]);
        assert_eq!(since(99), [code, at(0, 3)]);
    }

    fn thread(trace: TraceId) -> Note {
        Note::Thread { trace, pid: 1, tid: 1, name: String::new() }
    }

    fn end(trace: TraceId) -> Note {
        Note::End { trace, end: ThreadEnd::Exited(0) }
    }

    fn code(byte: u8) -> Note {
        Note::Code { space: SpaceId(0), address: 0x1000, bytes: vec![byte; 4096] }
    }

    #[test]
    fn the_oldest_ended_traces_are_dropped_with_their_notes() {
        let mut ring = Ring::new(MAX_ENDED_BYTES);
        let traces = (0..).map(TraceId).take(MAX_ENDED + 3);
        for trace in traces {
            ring.note(thread(trace));
            ring.note(at(trace, 0, trace.0));
            let path = "/bin/true".into();
            let mapping = Mapping { address: 0, size: 1, offset: 0, path, build_id: None };
            ring.note(Note::Mapping { space: SpaceId(trace.0), mapping });
            ring.note(end(trace));
            ring.packets(trace, &[1, 2]);
        }
        let (notes, packets) = ring.snapshot();
        assert_eq!((packets.len(), ring.dropped()), (MAX_ENDED, 3));
        assert_eq!((packets[0].0, notes.len()), (TraceId(3), 4 * MAX_ENDED));
        let last = TraceId(1000);
        ring.note(thread(last));
        ring.note(end(last));
        ring.packets(last, &vec![0; MAX_ENDED_BYTES - 1]);
        assert_eq!(ring.traces.len(), 1, "its packets are as many as those of all");
    }

    #[test]
    fn notes_of_code_that_is_replaced_do_not_grow() {
        let mut ring = Ring::new(100);
        ring.note(thread(ONE));
        for number in 0..100_000 {
            ring.note(code(number as u8));
            ring.note(at(ONE, number, 0));
            ring.packets(ONE, &[0]);
        }
        assert!(ring.note_bytes < 3 * MIN_NOTE_BYTES && !ring.is_full());
        let (notes, packets) = ring.snapshot();
        assert_eq!((packets[0].1.len(), ring.dropped()), (100, 0));
        assert_eq!(notes[..3], [thread(ONE), code(99_900_u32 as u8), at(ONE, 0, 0)]);
        assert_eq!(notes[notes.len() - 2..], [code(99_999_u32 as u8), at(ONE, 99, 0)]);
        assert_eq!(notes.len(), 201);
    }

    #[test]
    fn a_ring_is_full_of_code_that_is_in_use() {
        let mut ring = Ring::new(100);
        ring.note(thread(ONE));
        ring.note(at(ONE, 0, 0));
        let mut notes = 0..;
        while !ring.is_full() {
            notes.next();
            ring.note(code(0));
        }
        assert!(notes.start > MAX_NOTE_BYTES / 5000 && ring.note_bytes < 2 * MAX_NOTE_BYTES);
    }

    #[test]
    fn a_ring_has_the_newest_packets_of_each_trace() {
        let (two, mut ring) = (TraceId(2), Ring::new(4));
        ring.note(thread(ONE));
        ring.note(thread(two));
        ring.note(at(ONE, 0, 0));
        ring.note(at(two, 0, 0));
        ring.packets(ONE, &[1, 2, 3]);
        ring.packets(two, &[9]);
        ring.note(at(ONE, 3, 1));
        assert_eq!(ring.snapshot().1, [(ONE, vec![1, 2, 3]), (two, vec![9])]);
        ring.packets(ONE, &[4, 5, 6]);
        let (notes, packets) = ring.snapshot();
        assert_eq!(notes, [thread(ONE), thread(two), at(ONE, 0, 0), at(two, 0, 0), at(ONE, 1, 1)]);
        assert_eq!(packets, [(ONE, vec![3, 4, 5, 6]), (two, vec![9])]);
        ring.packets(ONE, &[7; 100]);
        assert_eq!(ring.snapshot().0, [thread(ONE), thread(two), at(two, 0, 0), at(ONE, 0, 1)]);
        assert_eq!(ring.snapshot().1[0], (ONE, vec![7; 4]));
    }
}
