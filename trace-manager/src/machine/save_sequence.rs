//! Checks the save requests of one provider.

use super::Violation;

/// A valid request to save a rolling buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SaveRequest {
    /// The wrapped count of the rolling buffer to save.
    pub wrapped_count: u32,
    /// The end of the durable data in bytes; a multiple of 8 inside the durable buffer.
    pub durable_data_end: u64,
}

/// The expected values of a provider's next save request.
///
/// The field is the next wrapped count, not the last one: before the first save, there is no last
/// one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SaveSequence {
    next: u32,
    durable_data_end: u64,
    durable_size: u64,
}

impl SaveSequence {
    pub(super) fn new(durable_size: u64) -> Self {
        Self { durable_size, ..Self::default() }
    }

    /// Expects the request for this wrapped count next.
    pub(super) fn skip_to(&mut self, wrapped_count: u32) {
        self.next = wrapped_count;
    }

    /// Returns the wrapped count of the next request.
    pub(super) fn next(&self) -> u32 {
        self.next
    }

    /// Checks a request. An invalid one does not advance the sequence.
    pub(super) fn check(&mut self, wrapped_count: u32, end: u64) -> Result<SaveRequest, Violation> {
        if wrapped_count != self.next {
            return Err(Violation::WrappedCount { expected: self.next, found: wrapped_count });
        }
        let last = self.durable_data_end;
        if end < last || end % 8 != 0 || end > self.durable_size {
            return Err(Violation::DurableEnd { last, found: end });
        }
        self.next = self.next.wrapping_add(1);
        self.durable_data_end = end;
        Ok(SaveRequest { wrapped_count, durable_data_end: end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_count_up_from_zero() {
        let mut sequence = SaveSequence::new(4096);
        assert_eq!(
            sequence.check(1, 0),
            Err(Violation::WrappedCount { expected: 0, found: 1 }),
            "the first rolling buffer cannot be skipped"
        );
        for wrapped_count in 0..5 {
            assert!(sequence.check(wrapped_count, 8).is_ok());
            assert!(sequence.check(wrapped_count, 8).is_err(), "a repeated request");
        }
        sequence.next = u32::MAX;
        assert!(sequence.check(u32::MAX, 8).is_ok());
        assert!(sequence.check(0, 8).is_ok(), "the count wraps around");
    }

    #[test]
    fn the_durable_end_increases_within_its_buffer() {
        let mut sequence = SaveSequence::new(4096);
        assert!(sequence.check(0, 16).is_ok());
        for bad in [8, 17, 4104, u64::MAX, u64::MAX - 7] {
            assert_eq!(sequence.check(1, bad), Err(Violation::DurableEnd { last: 16, found: bad }));
        }
        assert!(sequence.check(1, 16).is_ok());
        assert!(sequence.check(2, 4096).is_ok());
    }
}
