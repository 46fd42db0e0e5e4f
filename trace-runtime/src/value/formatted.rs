//! Formatted text: on the stack while it is short, else on the heap.

use std::fmt::{Arguments, Result, Write};
use std::panic::{catch_unwind, AssertUnwindSafe};

use trace_format::layout::MAX_STRING_BYTES;

use super::ArgValue;

/// The longest text, in bytes, that is formatted without an allocation.
const INLINE: usize = 256;

/// The suffix of the text of a value that panicked.
const PANICKED: &str = "<panicked>";

/// A formatted text. Formatting stops after the longest text that can be recorded.
#[derive(Debug)]
pub struct Formatted {
    length: usize,
    inline: [u8; INLINE],
    /// The whole text, once it is longer than `inline`.
    long: String,
}

/// Returns the text of `?value` or `%value`.
#[doc(hidden)]
pub fn text(arguments: Arguments<'_>) -> Formatted {
    Formatted::new(arguments)
}

impl Formatted {
    /// Formats the arguments. Not inlined: formatting costs far more than the call.
    ///
    /// Catches a panic of the value, because the application would panic only while it is traced.
    #[inline(never)]
    pub(crate) fn new(arguments: Arguments<'_>) -> Self {
        let mut formatted = Self { length: 0, inline: [0; INLINE], long: String::new() };
        // The text is valid at every point at which the value may stop writing.
        match catch_unwind(AssertUnwindSafe(|| formatted.write_fmt(arguments))) {
            // The value failed, or the text is long enough. Both keep the text.
            Ok(_incomplete) => {}
            Err(panic) => {
                // Its drop could panic too.
                std::mem::forget(panic);
                let _marked = formatted.write_str(PANICKED);
            }
        }
        formatted
    }

    /// Returns the text.
    pub(crate) fn as_str(&self) -> &str {
        if self.long.is_empty() {
            let text = self.inline.get(..self.length).unwrap_or(&[]);
            std::str::from_utf8(text).unwrap_or("")
        } else {
            &self.long
        }
    }
}

impl Write for Formatted {
    fn write_str(&mut self, text: &str) -> Result {
        let end = self.length + text.len();
        if self.long.is_empty() {
            if let Some(space) = self.inline.get_mut(self.length..end) {
                space.copy_from_slice(text.as_bytes());
                self.length = end;
                return Ok(());
            }
            let short = self.as_str().to_string();
            self.long.reserve(end.next_power_of_two());
            self.long.push_str(&short);
        }
        self.long.push_str(text);
        // The rest would be cut when it is recorded, so a large value is not formatted to its end.
        if self.long.len() > MAX_STRING_BYTES {
            return Err(std::fmt::Error);
        }
        Ok(())
    }
}

impl ArgValue for Formatted {
    type Arg<'a> = &'a str;

    #[inline]
    fn arg(&self) -> &str {
        self.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_every_length_are_whole() {
        for length in 0..400 {
            let text: String = "äb".chars().cycle().take(length).collect();
            assert_eq!(Formatted::new(format_args!("{text}")).as_str(), text);
            let parts = Formatted::new(format_args!("{}{}{text}", "ö", 7));
            assert_eq!(parts.as_str(), format!("ö7{text}"));
        }
    }

    #[test]
    fn a_large_value_is_not_formatted_to_its_end() {
        let formatted = Formatted::new(format_args!("{:?}", vec![1u8; 10_000_000]));
        assert!(formatted.as_str().starts_with("[1, 1, "));
        assert!((MAX_STRING_BYTES..MAX_STRING_BYTES + 100).contains(&formatted.as_str().len()));
    }

    #[test]
    fn a_panic_of_a_value_is_caught() {
        struct Panics;
        impl std::fmt::Debug for Panics {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> Result {
                f.write_str("half")?;
                panic!("a value's own");
            }
        }
        assert_eq!(
            Formatted::new(format_args!("{Panics:?} and {Panics:?}")).as_str(),
            "half<panicked>"
        );
        let long = "x".repeat(300);
        assert_eq!(
            Formatted::new(format_args!("{long}{Panics:?}")).as_str(),
            format!("{long}half<panicked>")
        );
    }

    #[test]
    fn the_text_of_a_failing_value_is_kept() {
        struct Fails;
        impl std::fmt::Display for Fails {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> Result {
                f.write_str("half")?;
                Err(std::fmt::Error)
            }
        }
        assert_eq!(Formatted::new(format_args!("{Fails}")).as_str(), "half");
    }
}
