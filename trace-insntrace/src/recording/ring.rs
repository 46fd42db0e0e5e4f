//! The newest packets of traces, until someone wants to see them.

use std::collections::{BTreeMap, VecDeque};

use super::note::{Note, TraceId};

/// Keeps the newest packets of each trace, and all notes.
#[derive(Debug)]
pub struct Ring {
    /// The most bytes of a trace.
    bytes: usize,
    notes: Vec<Note>,
    traces: BTreeMap<TraceId, Kept>,
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
        Self { bytes, notes: Vec::new(), traces: BTreeMap::new() }
    }

    /// Appends a note.
    pub fn note(&mut self, note: Note) {
        self.notes.push(note);
    }

    /// Appends packets over the oldest ones of their trace.
    pub fn packets(&mut self, trace: TraceId, packets: &[u8]) {
        let kept = self.traces.entry(trace).or_default();
        kept.packets.extend(packets);
        let excess = kept.packets.len().saturating_sub(self.bytes);
        kept.packets.drain(..excess);
        kept.lost += excess as u64;
    }

    /// Returns the notes and the packets of now, as those of a recording.
    #[must_use]
    pub fn snapshot(&self) -> (Vec<Note>, Vec<(TraceId, Vec<u8>)>) {
        let lost = self.traces.iter().map(|(trace, kept)| (*trace, kept.lost)).collect();
        let packets = |(trace, kept): (&TraceId, &Kept)| {
            (*trace, kept.packets.iter().copied().collect::<Vec<_>>())
        };
        (since(self.notes.clone(), &lost), self.traces.iter().map(packets).collect())
    }
}

/// Returns the notes for traces that have lost this number of their first bytes.
///
/// Of the positions in the lost bytes of a trace only the last one is kept: it has the code at the
/// beginning.
pub(crate) fn since(notes: Vec<Note>, lost: &BTreeMap<TraceId, u64>) -> Vec<Note> {
    let lost_of = |trace: &TraceId| lost.get(trace).copied().unwrap_or(0);
    let mut first = BTreeMap::new();
    for (index, note) in notes.iter().enumerate() {
        if let Note::Position { trace, offset, .. } = note {
            if *offset <= lost_of(trace) {
                first.insert(*trace, index);
            }
        }
    }
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
    use crate::recording::SpaceId;

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

    #[test]
    fn a_ring_has_the_newest_packets_of_each_trace() {
        let (two, mut ring) = (TraceId(2), Ring::new(4));
        ring.note(at(ONE, 0, 0));
        ring.note(at(two, 0, 0));
        ring.packets(ONE, &[1, 2, 3]);
        ring.packets(two, &[9]);
        ring.note(at(ONE, 3, 1));
        assert_eq!(ring.snapshot().1, [(ONE, vec![1, 2, 3]), (two, vec![9])]);
        ring.packets(ONE, &[4, 5, 6]);
        let (notes, packets) = ring.snapshot();
        assert_eq!(notes, [at(ONE, 0, 0), at(two, 0, 0), at(ONE, 1, 1)]);
        assert_eq!(packets, [(ONE, vec![3, 4, 5, 6]), (two, vec![9])]);
        ring.packets(ONE, &[7; 100]);
        assert_eq!(ring.snapshot().0, [at(two, 0, 0), at(ONE, 0, 1)]);
        assert_eq!(ring.snapshot().1[0], (ONE, vec![7; 4]));
    }
}
