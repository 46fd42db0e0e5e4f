//! The latest calls that have not returned.

use super::layout::RETURN_STACK_ENTRIES;

/// A stack of [`RETURN_STACK_ENTRIES`] calls. One more replaces the oldest.
#[derive(Debug, Clone)]
pub(crate) struct ReturnStack<T> {
    entries: [T; RETURN_STACK_ENTRIES],
    /// The number of pushes less the number of pops, as a position in `entries`.
    top: usize,
    len: usize,
}

impl<T: Copy + Default> ReturnStack<T> {
    pub(crate) fn new() -> Self {
        Self { entries: [T::default(); RETURN_STACK_ENTRIES], top: 0, len: 0 }
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    #[inline]
    pub(crate) fn push(&mut self, call: T) {
        if let Some(entry) = self.entries.get_mut(self.top) {
            *entry = call;
        }
        self.top = (self.top + 1) % RETURN_STACK_ENTRIES;
        self.len = (self.len + 1).min(RETURN_STACK_ENTRIES);
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        self.top = (self.top + RETURN_STACK_ENTRIES - 1) % RETURN_STACK_ENTRIES;
        self.entries.get(self.top).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_call_is_replaced() {
        let mut stack = ReturnStack::new();
        (0..70).for_each(|address| stack.push(address));
        let popped: Vec<_> = std::iter::from_fn(|| stack.pop()).collect();
        assert_eq!(popped, (6..70).rev().collect::<Vec<_>>());
        assert_eq!(stack.pop(), None);
    }

    #[test]
    fn a_cleared_stack_is_empty() {
        let mut stack = ReturnStack::new();
        stack.push(1);
        stack.clear();
        assert_eq!(stack.pop(), None);
        stack.push(2);
        assert_eq!(stack.pop(), Some(2));
    }
}
