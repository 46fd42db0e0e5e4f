//! The rate of the CPU's counter, measured between two samples of the clocks.

use std::time::Duration;

use trace_protocol::archive::ClockSample;
use trace_protocol::message::ClockSource;

/// The least time between two samples. A read takes about 50 ns, which is 5 parts in a million of
/// it.
pub(crate) const MIN_SPAN: Duration = Duration::from_millis(10);

/// Takes a sample at least [`MIN_SPAN`] after `earlier`. Sleeps if it has to.
pub(crate) fn sample_after(earlier: &ClockSample) -> ClockSample {
    let passed = ClockSample::now().since(earlier);
    if let Some(rest) = MIN_SPAN.checked_sub(passed) {
        std::thread::sleep(rest);
    }
    ClockSample::now()
}

/// Returns the counter's ticks per second between two samples that are at least [`MIN_SPAN`] apart.
pub(crate) fn counter_rate(earlier: &ClockSample, later: &ClockSample) -> Option<u64> {
    let long = later.since(earlier) >= MIN_SPAN;
    let rate = later.rate_since(earlier, ClockSource::CpuCounter);
    rate.filter(|rate| long && *rate != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_measurements_agree() {
        let first = ClockSample::now();
        let second = sample_after(&first);
        let third = sample_after(&second);
        let one = counter_rate(&first, &second).unwrap();
        let other = counter_rate(&second, &third).unwrap();
        assert!(one.abs_diff(other) < one / 100, "{one} and {other} ticks per second");
        assert_eq!(counter_rate(&first, &first), None);
    }
}
