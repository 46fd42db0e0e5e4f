//! Notes that no packet requires any more.

use std::collections::{BTreeMap, HashMap};

use super::note::{Note, SpaceId, TraceId};

/// Removes the notes that are not in use by these traces, which have lost this number of their
/// first bytes:
///
/// - those about other traces
/// - positions in the lost bytes of a trace, but for the last one
/// - mappings and code of address spaces in which none of the traces is any more
/// - code that was replaced before the first position in its address space
pub(super) fn remove(notes: &mut Vec<Note>, traces: &BTreeMap<TraceId, u64>) {
    remove_positions(notes, traces);
    let mut firsts = HashMap::new();
    let mut newest = None;
    for (index, note) in notes.iter().enumerate() {
        if let Note::Position { space, .. } = note {
            firsts.entry(*space).or_insert(index);
            newest = newest.max(Some(*space));
        }
    }
    // The first position in the newest address spaces may still follow.
    let is_used = |space: &SpaceId| firsts.contains_key(space) || Some(*space) > newest;
    let mut replacing = HashMap::new();
    for (index, note) in notes.iter().enumerate() {
        if let Note::Code { space, address, bytes } = note {
            if firsts.get(space).is_some_and(|first| index < *first) {
                replacing.insert((*space, *address, bytes.len()), index);
            }
        }
    }
    let mut indexes = 0..;
    notes.retain(|note| {
        let index = indexes.next().unwrap_or_default();
        match note {
            Note::Mapping { space, .. } => is_used(space),
            Note::Code { space, address, bytes } => {
                let last = replacing.get(&(*space, *address, bytes.len()));
                is_used(space) && last.is_none_or(|last| index >= *last)
            }
            _ => true,
        }
    });
}

/// Returns the index of the first position of each trace that is in use: the last one in the bytes
/// that the trace has lost, of which `lost` returns the number.
pub(super) fn first_positions(
    notes: &[Note],
    lost: impl Fn(&TraceId) -> Option<u64>,
) -> HashMap<TraceId, usize> {
    let mut firsts = HashMap::new();
    for (index, note) in notes.iter().enumerate() {
        if let Note::Position { trace, offset, .. } = note {
            if lost(trace).is_some_and(|lost| *offset <= lost) {
                firsts.insert(*trace, index);
            }
        }
    }
    firsts
}

/// Removes notes about other traces, and positions that are not in use.
fn remove_positions(notes: &mut Vec<Note>, traces: &BTreeMap<TraceId, u64>) {
    let firsts = first_positions(notes, |trace| traces.get(trace).copied());
    let mut indexes = 0..;
    notes.retain(|note| {
        let index = indexes.next().unwrap_or_default();
        match note {
            Note::Position { trace, .. } => {
                let is_last = firsts.get(trace).is_none_or(|first| index >= *first);
                traces.contains_key(trace) && is_last
            }
            Note::Thread { trace, .. } | Note::End { trace, .. } => traces.contains_key(trace),
            Note::Mapping { .. } | Note::Code { .. } => true,
        }
    });
}
