//! Texts that may be invalid UTF-8.

use std::sync::atomic::{AtomicU64, Ordering};

use trace_format::layout::{argument, ArgumentType, StringRef};

use crate::value::sealed::Encode;
use crate::value::{count_cut, encode_bytes, header, Limit};

/// A text whose bytes that are not UTF-8 are recorded as `?`, one for each, so that its length is
/// known before its bytes are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a>(pub(super) &'a [u8]);

impl<'a> Text<'a> {
    /// Returns the bytes that may be recorded, cut at a character.
    #[inline(always)]
    pub(super) fn cut(self, limit: Limit) -> &'a [u8] {
        if self.0.len() <= limit.bytes() {
            self.0
        } else {
            cut(self.0, limit.bytes())
        }
    }

    /// Cuts like [`Text::cut`], and counts the text if it was cut. Call it once for each text,
    /// where it is stored.
    #[inline(always)]
    fn cut_and_count(self, limit: Limit) -> &'a [u8] {
        if self.0.len() <= limit.bytes() {
            self.0
        } else {
            cut_counted(self.0, limit.bytes())
        }
    }
}

#[cold]
fn cut_counted(bytes: &[u8], most: usize) -> &[u8] {
    count_cut();
    cut(bytes, most)
}

#[cold]
fn cut(bytes: &[u8], most: usize) -> &[u8] {
    let starts_character = |end: &usize| bytes.get(*end).is_some_and(|byte| byte & 0xc0 != 0x80);
    // A character has at most four bytes, so its first byte is at most three back.
    let end = (most.saturating_sub(3)..=most).rev().find(starts_character).unwrap_or(most);
    bytes.get(..end).unwrap_or(bytes)
}

impl Encode for Text<'_> {
    #[inline(always)]
    fn words(&self, limit: Limit) -> usize {
        1 + self.cut(limit).len().div_ceil(8)
    }

    #[inline(always)]
    fn encode(&self, key: u64, words: &[AtomicU64], limit: Limit) {
        let Some((first, rest)) = words.split_first() else { return };
        let text = self.cut_and_count(limit);
        let value = argument::ValueRef::make(u64::from(StringRef::inline(text.len()).bits()));
        first.store(header(ArgumentType::String, words.len()) | key | value, Ordering::Relaxed);
        encode_bytes(text, rest);
        let bits = rest.iter().fold(0, |bits, word| bits | word.load(Ordering::Relaxed));
        if bits & NOT_ASCII != 0 {
            replace(text, rest);
        }
    }
}

/// The highest bit of each byte.
const NOT_ASCII: u64 = 0x8080_8080_8080_8080;

/// Stores a text that is not ASCII with replacements if it is not UTF-8.
#[cold]
#[inline(never)]
fn replace(text: &[u8], words: &[AtomicU64]) {
    if std::str::from_utf8(text).is_ok() {
        return;
    }
    let chunks = text.utf8_chunks();
    let mut bytes =
        chunks.flat_map(|chunk| chunk.valid().bytes().chain(chunk.invalid().iter().map(|_| b'?')));
    for word in words {
        let mut eight = [0; 8];
        eight.iter_mut().zip(bytes.by_ref()).for_each(|(place, byte)| *place = byte);
        word.store(u64::from_le_bytes(eight), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(text: &[u8], limit: Limit) -> Vec<u8> {
        let text = Text(text);
        let words: Vec<AtomicU64> =
            (0..text.words(limit)).map(|_| AtomicU64::new(u64::MAX)).collect();
        text.encode(0, &words, limit);
        let length = text.cut(limit).len();
        let header = words[0].load(Ordering::Relaxed);
        assert_eq!(argument::ValueRef::get(header) as usize & 0x7fff, length);
        let bytes: Vec<u8> =
            words[1..].iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
        assert!(bytes[length..].iter().all(|byte| *byte == 0), "padded with zeros");
        bytes[..length].to_vec()
    }

    #[test]
    fn bytes_that_are_not_utf8_become_question_marks() {
        assert_eq!(recorded(b"", Limit::LONG), b"");
        assert_eq!(recorded(b"abcdefgh", Limit::LONG), b"abcdefgh");
        assert_eq!(recorded("grün, ja".as_bytes(), Limit::LONG), "grün, ja".as_bytes());
        assert_eq!(recorded(b"gr\xfcn, ja, gr\xc3", Limit::LONG), b"gr?n, ja, gr?");
        assert_eq!(recorded(&[0xff; 17], Limit::LONG), [b'?'; 17]);
    }

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let text = format!("x{}", "€".repeat(20_000));
        assert_eq!(recorded(text.as_bytes(), Limit::LONG), &text.as_bytes()[..31_999]);
        assert_eq!(recorded(&[0x80; 40_000], Limit::LONG), [b'?'; 32_000]);
    }
}
