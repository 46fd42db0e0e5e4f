//! Conversion of words to bytes.

/// Returns the bytes of `words` without a copy: little-endian, as in an archive.
pub fn as_bytes(words: &[u64]) -> &[u8] {
    // SAFETY: the bytes are those of `words`, with the same lifetime. Every byte of a `u64` is
    // initialised, and `u8` has no alignment.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), std::mem::size_of_val(words)) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn bytes_are_little_endian() {
        assert_eq!(
            super::as_bytes(&[0x0102, 3 << 56]),
            [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3]
        );
        assert_eq!(super::as_bytes(&[]), []);
    }
}
