//! Perfetto's format, which is an output only.

use crate::START_BYTES;

/// The first byte of each packet in Perfetto's format: field 1 of the message `Trace`. Its length
/// follows.
const PACKET: u8 = 0x0a;

/// Returns whether a file that starts like this is a sequence of Perfetto's packets.
pub(crate) fn is_perfetto(start: &[u8]) -> bool {
    let Some((&PACKET, rest)) = start.split_first() else {
        return false;
    };
    let Some(digits) = rest.iter().take(4).position(|byte| *byte < 0x80) else {
        return false;
    };
    let length = rest.iter().take(digits + 1).rev();
    let length = length.fold(0, |length, byte| length << 7 | usize::from(byte & 0x7f));
    let end = 1 + digits + 1 + length;
    match start.get(end) {
        Some(next) => *next == PACKET,
        None => end == start.len() || start.len() as u64 == START_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_perfetto_are_detected_by_their_packets() {
        let mut two = vec![0x0a, 0x81, 0x01];
        two.extend([7; 0x81]);
        assert!(is_perfetto(&two), "one packet");
        two.extend([0x0a, 3, 1, 2, 3]);
        assert!(is_perfetto(&two), "two");
        let long: Vec<u8> = [0x0a, 0xff, 0x7f].into_iter().chain([0; 4093]).collect();
        assert!(is_perfetto(&long), "the start of a long one");
        assert!(!is_perfetto(&two[..100]), "cut");
        for other in
            [&b""[..], b"\n", b"\nhello, text", b"\x10\0\x04FxT\x16\0", b"\n\xff\xff\xff\xff\xff"]
        {
            assert!(!is_perfetto(other), "{other:?}");
        }
    }
}
