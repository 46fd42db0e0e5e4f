//! The mark of a program in which tracing is compiled out.

use std::hint::black_box;

use trace_protocol::ntrace::{PARTS, SEPARATOR};

const BYTES: usize = PARTS[0].len() + 1 + PARTS[1].len();

static MARK: [u8; BYTES] = {
    let (first, second) = (PARTS[0].as_bytes(), PARTS[1].as_bytes());
    let mut mark = [SEPARATOR; BYTES];
    let mut index = 0;
    while index < first.len() {
        mark[index] = first[index];
        index += 1;
    }
    while index < first.len() + second.len() {
        mark[index + 1] = second[index - first.len()];
        index += 1;
    }
    mark
};

/// Keeps the linker from removing the mark.
pub(super) fn keep() {
    black_box(&MARK);
}
