//! Ids and hashes of names.

/// Returns an id in the notation of our exporter. 0 is excluded: for a counter it means no id.
#[inline]
pub(super) fn plain_id(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x")?;
    let is_plain = match digits.as_bytes() {
        [b'0', ..] => false,
        digits => digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')),
    };
    is_plain.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

pub(super) fn hexadecimal(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    u64::from_str_radix(digits, 16).ok()
}

/// Returns a decimal number in the notation of JSON.
pub(super) fn decimal(text: &str) -> Option<u64> {
    let is_plain = text.bytes().all(|digit| digit.is_ascii_digit());
    let has_zeros = text.len() > 1 && text.starts_with('0');
    (is_plain && !has_zeros).then(|| text.parse().ok()).flatten()
}

/// Returns a hash of texts (FNV-1a). It is the same in every run.
pub(super) fn hash(texts: &[&[u8]]) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    // No byte of UTF-8 is 0xff.
    let whole = |hash, text: &&[u8]| step(text.iter().copied().fold(hash, step), 0xff);
    texts.iter().fold(0xcbf2_9ce4_8422_2325, whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_ids_are_lower_case_hexadecimal() {
        assert_eq!(plain_id("0x1f"), Some(0x1f));
        assert_eq!(plain_id("0xffffffffffffffff"), Some(u64::MAX));
        for other in ["0x0", "0x01", "0x1F", "1f", "0x", "0x10000000000000000", "0X1", ""] {
            assert_eq!(plain_id(other), None, "{other}");
        }
    }

    #[test]
    fn texts_are_separated() {
        assert_eq!(hash(&[]), 0xcbf2_9ce4_8422_2325);
        assert_ne!(hash(&[b"a", b"b"]), hash(&[b"ab", b""]));
        assert_ne!(hash(&[b"a"]), hash(&[b"b"]));
    }
}
