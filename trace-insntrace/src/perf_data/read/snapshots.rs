//! The snapshots of a buffer, of which each has some packets of the one before.
//!
//! ```text
//!  snapshot 1   ├── PSB ──────────── PSB ───────┤
//!  snapshot 2                ├── …   PSB ───────┼──── PSB ────┤        continues behind snapshot 1
//!  snapshot 3                                                  ├── … PSB ───┤    packets are missing
//! ```
//!
//! A snapshot is decoded from its first PSB on, as by perf.

use crate::pt::layout::{PSB, PSB_BYTES};
use crate::pt::{encode, Packet};

/// A PSB and the time stamp behind it, which occurs once.
const MARK_BYTES: usize = PSB_BYTES + 8;

/// perf adds zeros behind a snapshot, up to a multiple of so many bytes.
const ALIGNMENT: usize = 8;

/// Joins the snapshots of one buffer.
#[derive(Debug, Default)]
pub(super) struct Joiner {
    /// The bytes from the last PSB with a mark of the last snapshot on, or none if it has no mark.
    /// `None` before the first snapshot that has a PSB.
    end: Option<Vec<u8>>,
}

impl Joiner {
    /// Returns the number of bytes that are kept in memory.
    pub(super) fn kept(&self) -> usize {
        self.end.as_ref().map_or(0, Vec::len)
    }

    /// Returns the packets of the next snapshot that follow those of the last one. If packets are
    /// missing in between, OVF precedes them.
    pub(super) fn next(&mut self, snapshot: &[u8]) -> Vec<u8> {
        let Some(packets) = from_psb(snapshot).next() else { return Vec::new() };
        let new = match &self.end {
            None => packets.to_vec(),
            Some(end) => {
                following(end, packets).map_or_else(|| behind_gap(packets), <[u8]>::to_vec)
            }
        };
        self.end = Some(marked_end(packets).to_vec());
        new
    }
}

/// Returns the bytes from each PSB on.
fn from_psb(bytes: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    let windows = bytes.windows(PSB_BYTES).enumerate();
    windows.filter(|(_, it)| *it == PSB).filter_map(|(at, _)| bytes.get(at..))
}

/// Returns the bytes from the last PSB on that has a mark.
fn marked_end(snapshot: &[u8]) -> &[u8] {
    from_psb(snapshot).rev().find(|it| it.len() >= MARK_BYTES).unwrap_or_default()
}

/// Returns the bytes of `next` behind those that the last snapshot ends with.
fn following<'a>(end: &[u8], next: &'a [u8]) -> Option<&'a [u8]> {
    if end.is_empty() {
        return None;
    }
    // There is no other PSB in `end`, so that this takes as long as `next`.
    from_psb(next).find_map(|packets| {
        let same = end.iter().zip(packets).take_while(|(one, other)| one == other).count();
        let padding = end.get(same..)?;
        let is_padding = padding.len() < ALIGNMENT && padding.iter().all(|byte| *byte == 0);
        is_padding.then(|| packets.get(same..)).flatten()
    })
}

fn behind_gap(packets: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(2 + packets.len());
    encode::append(&mut bytes, &Packet::Ovf);
    bytes.extend_from_slice(packets);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pt::PacketDecoder;

    /// Returns packets whose last bytes are zero.
    fn packets(times: std::ops::Range<u64>) -> Vec<u8> {
        let mut bytes = Vec::new();
        for time in times {
            for packet in [Packet::Psb, Packet::Tsc(time), Packet::PsbEnd, Packet::Mtc(1)] {
                encode::append(&mut bytes, &packet);
            }
            encode::append(&mut bytes, &Packet::Tsc(time));
        }
        bytes
    }

    fn padded(bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
        bytes
    }

    fn decode(bytes: &[u8]) -> Vec<Packet> {
        let mut decoder = PacketDecoder::new();
        decoder.push(bytes);
        decoder.end();
        let mut found = Vec::new();
        decoder.visit(|at| found.push(at.packet)).unwrap();
        found.retain(|packet| *packet != Packet::Pad);
        found
    }

    fn join(snapshots: &[Vec<u8>]) -> Vec<u8> {
        let mut joiner = Joiner::default();
        snapshots.iter().flat_map(|snapshot| joiner.next(&padded(snapshot))).collect()
    }

    #[test]
    fn only_the_end_of_a_snapshot_is_kept() {
        let mut joiner = Joiner::default();
        let period = packets(1..2).len();
        for last in [3, 1000] {
            joiner.next(&padded(&packets(1..last)));
            assert!((period..period + ALIGNMENT).contains(&joiner.kept()), "{}", joiner.kept());
        }
        // A PSB alone does not occur once.
        joiner.next(&PSB);
        assert_eq!(joiner.kept(), 0);
        let gap = behind_gap(&packets(1..2));
        assert_eq!(joiner.next(&packets(1..2)), gap);
    }

    #[test]
    fn snapshots_that_overlap_are_one_stream() {
        let whole = packets(1..20);
        let period = packets(1..2).len();
        // Of the last period, a snapshot has any part that is whole packets.
        for cut in [0, 16, 24, 26, 28] {
            let first = &whole[..10 * period + cut];
            for start in (0..9 * period).step_by(7) {
                let snapshots = [first.to_vec(), whole[start..].to_vec()];
                assert_eq!(decode(&join(&snapshots)), decode(&whole), "{cut} {start}");
            }
        }
    }

    /// perf writes only new packets until the area is overwritten, and then all of it.
    #[test]
    fn a_snapshot_may_begin_before_the_last_one() {
        let whole = packets(1..20);
        let period = packets(1..2).len();
        let parts =
            [0..4, 4..7, 2..11].map(|it| whole[it.start * period..it.end * period].to_vec());
        let expected = [
            decode(&whole[..4 * period]),
            vec![Packet::Ovf],
            decode(&whole[4 * period..11 * period]),
        ];
        assert_eq!(decode(&join(&parts)), expected.concat());
    }

    #[test]
    fn a_snapshot_without_new_packets_adds_none() {
        let (whole, later) = (packets(1..9), packets(9..12));
        let none = whole[whole.len() - 20..].to_vec();
        let snapshots = [whole.clone(), whole.clone(), none, [&whole[..], &later].concat()];
        assert_eq!(decode(&join(&snapshots)), decode(&[&whole[..], &later].concat()));
        assert!(join(&[]).is_empty());
    }

    #[test]
    fn packets_that_are_missing_between_snapshots_are_an_overflow() {
        let (first, second) = (packets(1..9), packets(10..12));
        let missing = [&packets(9..10)[20..], &second].concat();
        let expected = [decode(&first), vec![Packet::Ovf], decode(&second)].concat();
        for later in [second, missing] {
            assert_eq!(decode(&join(&[first.clone(), later])), expected);
        }
        // One that only begins in the same way is another one.
        let other = [&packets(8..9)[..26], &packets(20..21)].concat();
        let expected = [decode(&first), vec![Packet::Ovf], decode(&other)].concat();
        assert_eq!(decode(&join(&[first, other])), expected);
    }
}
