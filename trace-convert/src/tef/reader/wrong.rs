//! Where an event ends that is wrong.

/// How far a wrong event has been gone over.
///
/// Brackets are counted. A string that does not end in its line ends the
/// event, so that a missing quote does not take all that follows with it.
#[derive(Debug, Default)]
pub(super) struct WrongEvent {
    depth: u64,
    in_string: bool,
    is_escaped: bool,
    /// Whether it has ended with a bracket: a comma is to follow.
    pub(super) is_closed: bool,
}

impl WrongEvent {
    /// Goes over more of it; returns where it ends, if it does.
    pub(super) fn end(&mut self, text: &[u8]) -> Option<usize> {
        for (at, byte) in text.iter().enumerate() {
            if let Some(behind) = self.ends_at(*byte) {
                return Some(at + behind);
            }
        }
        None
    }

    /// Returns 1 if it ends with this byte, 0 if before it.
    fn ends_at(&mut self, byte: u8) -> Option<usize> {
        if self.in_string {
            let was_escaped = self.is_escaped;
            self.is_escaped = byte == b'\\' && !was_escaped;
            self.in_string = byte != b'"' || was_escaped;
            return (byte == b'\n').then_some(1);
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b']' | b',' if self.depth == 0 => return Some(usize::from(byte == b',')),
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.is_closed = self.depth == 0;
                return self.is_closed.then_some(1);
            }
            _ => {}
        }
        None
    }
}
