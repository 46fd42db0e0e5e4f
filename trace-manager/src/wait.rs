//! The time that an event loop waits.

use std::time::Duration;

/// Returns a time to wait in milliseconds, as for epoll_wait(2); `None` is without limit.
///
/// It is rounded up, so that the deadline has passed after the wait.
pub(crate) fn milliseconds(wait: Option<Duration>) -> i32 {
    wait.map_or(-1, |wait| i32::try_from(wait.as_millis() + 1).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_after_its_deadline() {
        for (micros, expected) in [(0, 1), (999, 1), (1000, 2), (1500, 2), (u64::MAX, i32::MAX)] {
            assert_eq!(milliseconds(Some(Duration::from_micros(micros))), expected, "{micros}");
        }
        assert_eq!(milliseconds(None), -1, "an idle loop does not wake");
    }
}
