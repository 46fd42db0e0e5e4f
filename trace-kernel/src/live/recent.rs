//! Values of the newest texts.

/// The number of texts: a power of two.
const TEXTS: usize = 1 << 10;

/// Spreads the bits of a text's ends.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// The newest text of each place, with its value. A text's place costs less than its hash. Texts
/// that collide replace each other, so that the cost of a text does not depend on the others.
#[derive(Debug)]
pub(super) struct Recent<T>(Vec<Option<(Box<[u8]>, T)>>);

impl<T: Copy> Recent<T> {
    /// Returns the value of a text, if it is one of the newest.
    pub(super) fn get(&self, text: &[u8]) -> Option<T> {
        let (known, value) = self.0.get(place(text))?.as_ref()?;
        (**known == *text).then_some(*value)
    }

    pub(super) fn insert(&mut self, text: &[u8], value: T) {
        if self.0.is_empty() {
            self.0.resize_with(TEXTS, || None);
        }
        if let Some(place) = self.0.get_mut(place(text)) {
            *place = Some((text.into(), value));
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// Returns the place of a text by its length, its first and its last bytes.
fn place(text: &[u8]) -> usize {
    let (first, last) = match (text.first_chunk(), text.last_chunk()) {
        (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
        _ => (text.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)), 0),
    };
    let mixed = (first ^ last.rotate_left(29) ^ text.len() as u64).wrapping_mul(MULTIPLIER);
    (mixed >> (64 - TEXTS.trailing_zeros())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_its_own_value_or_none() {
        let mut recent = Recent::default();
        assert_eq!(recent.get(b"a"), None);
        let texts: Vec<String> = (0..5 * TEXTS).map(|number| format!("text {number}")).collect();
        for (number, text) in texts.iter().enumerate() {
            recent.insert(text.as_bytes(), number);
            assert_eq!(recent.get(text.as_bytes()), Some(number));
        }
        let found = texts.iter().enumerate().filter_map(|(number, text)| {
            let found = recent.get(text.as_bytes())?;
            assert_eq!(found, number);
            Some(found)
        });
        assert!((TEXTS / 2..=TEXTS).contains(&found.count()), "most places are used");
        recent.clear();
        assert_eq!(recent.get(texts[0].as_bytes()), None);
    }

    #[test]
    fn texts_with_the_same_ends_differ() {
        let (one, other) = (b"12345678-1-12345678", b"12345678-2-12345678");
        assert_eq!(place(one), place(other));
        let mut recent = Recent::default();
        recent.insert(one, 1);
        assert_eq!((recent.get(one), recent.get(other)), (Some(1), None));
        recent.insert(b"", 0);
        assert_eq!(recent.get(b""), Some(0));
    }
}
