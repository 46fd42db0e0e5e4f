//! The result of recording the kernel's events.

use trace_kernel::live::{is_kernel_category, SAMPLES};
use trace_manager::controller::CompanionResult;
use trace_manager::SessionSummary;
use trace_protocol::categories::CategorySet;

use crate::message::{plural, HINT};

/// The start of the line with the helper's numbers of scheduling records, of samples, of lines of
/// the kernel's log, of dropped events, of lost samples and of pauses of sampling, and whether all
/// selected data were recorded.
pub(crate) const TOTALS: &str = "totals";

/// The result of recording the kernel's events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KernelResult {
    /// The helper's process; `None` if it did not record, or is one of the daemon.
    pub(crate) pid: Option<u32>,
    /// What the helper has told; `None` if it did not record, or did not come to its end.
    pub(crate) numbers: Option<CompanionResult>,
    /// Whether a helper of the daemon recorded, which has no options of buffers and samples.
    pub(crate) is_of_daemon: bool,
}

impl From<CompanionResult> for KernelResult {
    fn from(numbers: CompanionResult) -> Self {
        Self { pid: None, numbers: Some(numbers), is_of_daemon: true }
    }
}

/// Returns the numbers of a helper's last line.
pub(super) fn parse(line: &str) -> Option<CompanionResult> {
    let mut fields = line.strip_prefix(TOTALS)?.split_whitespace();
    let mut number = || fields.next()?.parse().ok();
    let (scheduling, samples, logs) = (number()?, number()?, number()?);
    let (dropped, lost_samples, throttled) = (number()?, number()?, number()?);
    let is_complete = fields.next()?.parse().ok()?;
    Some(CompanionResult {
        is_complete,
        scheduling,
        samples,
        logs,
        dropped,
        lost_samples,
        throttled,
    })
}

impl KernelResult {
    /// Returns the numbers, or that nothing is known to be recorded.
    pub(crate) fn numbers(self) -> CompanionResult {
        self.numbers.unwrap_or_default()
    }

    /// Returns whether all selected events were recorded.
    pub(crate) fn has_all(self) -> bool {
        let CompanionResult { is_complete, dropped, lost_samples, throttled, .. } = self.numbers();
        is_complete && dropped == 0 && lost_samples == 0 && throttled == 0
    }

    /// Returns warnings with their hints.
    pub(crate) fn advice(self) -> impl Iterator<Item = String> {
        let samples = self.advice_of_samples().into_iter().chain(self.advice_of_pauses());
        self.advice_of_losses().into_iter().chain(samples)
    }

    /// A larger buffer has no effect on them.
    fn advice_of_samples(self) -> Option<String> {
        let lost_samples = self.numbers().lost_samples;
        let noun = plural(lost_samples, "sample", "samples");
        (lost_samples > 0).then(|| {
            format!(
                "the CPU lost {lost_samples} {noun} before the kernel could write them{HINT}{}",
                self.fewer_samples()
            )
        })
    }

    fn advice_of_pauses(self) -> Option<String> {
        let throttled = self.numbers().throttled;
        let noun = plural(throttled, "time", "times");
        (throttled > 0).then(|| {
            format!(
                "the kernel paused sampling {throttled} {noun} because there were more samples \
                 than kernel.perf_event_max_sample_rate permits{HINT}{}",
                self.fewer_samples()
            )
        })
    }

    fn fewer_samples(self) -> &'static str {
        match self.is_of_daemon {
            true => "take fewer samples with trace record --samples",
            false => "take fewer samples (--samples, --samples-by)",
        }
    }

    fn advice_of_losses(self) -> Option<String> {
        let dropped = self.numbers().dropped;
        let remedy = match self.is_of_daemon {
            true => {
                "record fewer categories (-c), or use trace record, which has a larger buffer \
                 (--kernel-buffer)"
            }
            false => {
                "use a larger buffer (--kernel-buffer), without root also a higher limit \
                 (ulimit -l), or record fewer categories (-c)"
            }
        };
        let noun = plural(dropped, "event", "events");
        (dropped > 0).then(|| {
            format!(
                "the kernel dropped at least {dropped} {noun} because its buffer was full{HINT}\
                 {remedy}"
            )
        })
    }
}

/// Returns the category patterns that matched no event. Scheduling records, samples and log records
/// have no category, but are those of `kernel:sched`, `cpu:perf` and `kernel:log`. If the helper
/// has not told its numbers, the reason is reported already, and no category of the kernel is among
/// them.
pub(crate) fn categories_without_events(
    summary: &SessionSummary,
    kernel: Option<KernelResult>,
) -> Vec<String> {
    without_recorded(summary.categories_without_events(), kernel)
}

/// Removes the patterns that match records without a category, if there are any.
fn without_recorded(mut patterns: Vec<String>, kernel: Option<KernelResult>) -> Vec<String> {
    let Some(kernel) = kernel else { return patterns };
    let CompanionResult { scheduling, samples, logs, .. } = kernel.numbers();
    if kernel.numbers.is_none() {
        patterns.retain(|pattern| !is_kernel_category(pattern));
    }
    for (number, category) in
        [(scheduling, "kernel:sched"), (samples, SAMPLES), (logs, "kernel:log")]
    {
        if number > 0 {
            patterns.retain(|pattern| !CategorySet::new(&[pattern]).matches(category));
        }
    }
    patterns
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: CompanionResult = CompanionResult {
        is_complete: true,
        scheduling: 12,
        samples: 5,
        logs: 6,
        dropped: 3,
        lost_samples: 4,
        throttled: 2,
    };

    #[test]
    fn lines_of_the_helper() {
        assert_eq!(parse("totals 12 5 6 3 4 2 true"), Some(NUMBERS));
        for wrong in ["", "ready", "totals", "totals 1 2 3 4 5 6", "totals 1 2 3 4 5 true"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        assert_eq!(parse("totals x 5 6 3 4 2 true"), None);
        let sampled = CompanionResult { is_complete: false, ..NUMBERS };
        assert_eq!(parse("totals 12 5 6 3 4 2 false"), Some(sampled));
    }

    #[test]
    fn what_is_missing_has_advice() {
        let of_daemon = KernelResult::from(NUMBERS);
        let result = KernelResult { is_of_daemon: false, ..of_daemon };
        let [losses, samples, pauses] = &result.advice().collect::<Vec<_>>()[..] else { panic!() };
        assert!(losses.contains("dropped at least 3 events"));
        assert!(samples.contains("the CPU lost 4 samples") && !samples.contains("buffer"));
        assert!(pauses.contains("paused sampling 2 times"));
        assert!(of_daemon.advice().all(|advice| advice.contains("trace record")));
        let complete = CompanionResult { is_complete: true, ..CompanionResult::default() };
        assert_eq!(KernelResult::from(complete).advice().count(), 0);
        let has_all = |numbers| KernelResult::from(numbers).has_all();
        assert!(has_all(complete) && !KernelResult::default().has_all());
        assert!(!has_all(CompanionResult { throttled: 1, ..complete }));
        assert!(!has_all(CompanionResult { dropped: 1, ..complete }));
        assert!(!has_all(CompanionResult { lost_samples: 1, ..complete }));
    }

    #[test]
    fn patterns_that_match_records_without_a_category_have_events() {
        let patterns = ["app", "kernel:s*", "kernel:sched", "kernel:irq", "cpu:perf"];
        let patterns = || patterns.map(str::to_owned);
        let without = |scheduling, samples| {
            let numbers = CompanionResult { scheduling, samples, ..CompanionResult::default() };
            without_recorded(patterns().to_vec(), Some(numbers.into()))
        };
        assert_eq!(without(1, 0), ["app", "kernel:irq", "cpu:perf"]);
        assert_eq!(without(0, 1), patterns()[..4]);
        assert_eq!(without(0, 0), patterns());
        let numbers = CompanionResult { logs: 1, ..CompanionResult::default() };
        let log = vec!["kernel:log".to_owned()];
        assert!(without_recorded(log, Some(numbers.into())).is_empty());
        let unknown = Some(KernelResult::default());
        assert_eq!(without_recorded(patterns().to_vec(), unknown), ["app"]);
    }
}
