//! Names of other languages that are known only at run time.

use crate::value::Limit;

use super::text::Text;

/// The longest recorded name, in bytes.
const LONGEST: usize = Limit::SHORT.bytes();

/// A name in which bytes that are not UTF-8 are replaced by `?`. It does not allocate.
#[derive(Debug)]
pub(super) struct Name<'a> {
    bytes: &'a [u8],
    /// The name with `?`, if bytes were replaced.
    replaced: [u8; LONGEST],
    is_replaced: bool,
}

impl<'a> Name<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let bytes = Text(bytes).cut(Limit::SHORT);
        let mut name = Self { bytes, replaced: [b'?'; LONGEST], is_replaced: false };
        if std::str::from_utf8(bytes).is_err() {
            name.replace();
        }
        name
    }

    fn replace(&mut self) {
        let mut rest: &mut [u8] = &mut self.replaced;
        for chunk in self.bytes.utf8_chunks() {
            let (valid, invalid) = (chunk.valid().as_bytes(), chunk.invalid().len());
            let Some((own, behind)) = rest.split_at_mut_checked(valid.len()) else { return };
            own.copy_from_slice(valid);
            rest = behind.get_mut(invalid..).unwrap_or_default();
        }
        self.is_replaced = true;
    }

    pub(super) fn as_str(&self) -> &str {
        let replaced = self.replaced.get(..self.bytes.len()).unwrap_or_default();
        let bytes = if self.is_replaced { replaced } else { self.bytes };
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_utf8_become_question_marks() {
        assert_eq!(Name::new(b"").as_str(), "");
        assert_eq!(Name::new("gr\u{fc}n".as_bytes()).as_str(), "gr\u{fc}n");
        assert_eq!(Name::new(b"gr\xfcn, gr\xc3").as_str(), "gr?n, gr?");
        assert_eq!(Name::new(&[0xff; 3000]).as_str(), "?".repeat(LONGEST));
        assert_eq!(
            Name::new("x\u{20ac}".repeat(1000).as_bytes()).as_str(),
            "x\u{20ac}".repeat(450)
        );
    }
}
