//! The durations of a thread, from their pieces.
//!
//! The rules are those of [`spans`](trace_analyze::spans). Here all of a thread is in
//! memory, with arguments, and what has lost its end is drawn.

use super::arguments::join;
use super::rows::Slice;
use trace_analyze::catalog::{Catalog, LabelId};
use trace_analyze::pairing::begin_of;

/// A begin, an end or both. Times are in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub(super) at: u64,
    pub(super) label: LabelId,
    pub(super) arguments: u32,
    pub(super) kind: PieceKind,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum PieceKind {
    Begin,
    End,
    Complete { end: u64 },
}

/// Halves of durations that have lost the other one.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Halves {
    pub(super) begins: u64,
    pub(super) ends: u64,
}

/// Returns the durations that `pieces` are of; `last` is where those end that
/// have not ended.
pub(super) fn slices(
    mut pieces: Vec<Piece>,
    last: u64,
    catalog: &Catalog,
    all: &mut Vec<u8>,
    halves: &mut Halves,
) -> Vec<Slice> {
    pieces.sort_by_key(|piece| piece.at);
    let mut slices = Vec::with_capacity(pieces.len());
    let mut open: Vec<Piece> = Vec::new();
    for piece in pieces {
        match piece.kind {
            PieceKind::Begin => open.push(piece),
            PieceKind::Complete { end } => slices.push(slice(&piece, end, false)),
            PieceKind::End => {
                let begin = begin_of(catalog, piece.label, &open, |begin| Some(begin.label));
                match begin {
                    Some(place) => close(piece, place, &mut open, all, halves, &mut slices),
                    None => halves.ends += 1,
                }
            }
        }
    }
    halves.begins += open.len() as u64;
    slices.extend(open.iter().map(|begin| slice(begin, last, true)));
    slices
}

/// Closes what `end` is the end of, at `place`, and what is open in it.
fn close(
    end: Piece,
    place: usize,
    open: &mut Vec<Piece>,
    all: &mut Vec<u8>,
    halves: &mut Halves,
    slices: &mut Vec<Slice>,
) {
    let inside = open.drain(place + 1..);
    halves.begins += inside.len() as u64;
    slices.extend(inside.map(|begin| slice(&begin, end.at, true)));
    if let Some(mut begin) = open.pop() {
        begin.arguments = join(all, begin.arguments, end.arguments);
        slices.push(slice(&begin, end.at, false));
    }
}

fn slice(begin: &Piece, end: u64, is_open: bool) -> Slice {
    let Piece { at, label, arguments, .. } = *begin;
    Slice { begin: at, end: end.max(at), label, arguments, is_open }
}
