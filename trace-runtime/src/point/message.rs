//! Text that is formatted on the stack as long as it is short.

use std::fmt;

/// Bytes that take no allocation.
const SHORT: usize = 256;

/// A text in the making.
#[derive(Debug)]
pub(super) struct Message {
    short: [u8; SHORT],
    used: usize,
    /// The whole text, once it is longer than `short`.
    long: String,
}

impl Message {
    /// Formats a text. If one of its parts fails, what came before it stays.
    pub(super) fn new(text: fmt::Arguments<'_>) -> Self {
        let mut message = Self { short: [0; SHORT], used: 0, long: String::new() };
        let _as_far_as_it_goes = fmt::write(&mut message, text);
        message
    }

    pub(super) fn as_str(&self) -> &str {
        if self.long.is_empty() {
            self.in_short()
        } else {
            &self.long
        }
    }

    fn in_short(&self) -> &str {
        let bytes = self.short.get(..self.used).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

impl fmt::Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.long.is_empty() {
            let end = self.used + text.len();
            if let Some(room) = self.short.get_mut(self.used..end) {
                room.copy_from_slice(text.as_bytes());
                self.used = end;
                return Ok(());
            }
            self.long = self.in_short().to_owned();
        }
        self.long.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_texts_are_whole() {
        for length in [0, 1, 255, 256, 257, 1000] {
            let text = "é".repeat(length / 2) + &"x".repeat(length % 2);
            let message = Message::new(format_args!("{}{}{}", &text, "", &text));
            assert_eq!(message.as_str(), format!("{text}{text}"));
            assert_eq!(message.long.is_empty(), 2 * length <= SHORT);
        }
    }
}
