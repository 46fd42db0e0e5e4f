//! Records that programs dropped, by what caused it.

use indicatif::HumanCount;
use trace_protocol::buffer::producer::LossReason;

use crate::message::{plural, HINT};

/// Why records were dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The buffer had no space, for whatever reason.
    Full,
    /// Another reason.
    Other(LossReason),
    /// Only their number is known.
    Unknown,
}

impl Cause {
    fn of(reason: LossReason) -> Self {
        match reason {
            LossReason::BufferFull | LossReason::NotSaved | LossReason::InUse => Self::Full,
            LossReason::TooLarge | LossReason::Nested | LossReason::NoSlot => Self::Other(reason),
        }
    }

    /// Returns the end of a sentence, which calls the buffer `buffer`.
    pub(crate) fn text(self, buffer: &str) -> String {
        match self {
            Self::Full => format!(" because {buffer} was full"),
            Self::Other(reason) => format!(": {}", reason.as_str()),
            Self::Unknown => String::new(),
        }
    }

    fn hint(self) -> Option<&'static str> {
        match self {
            Self::Full => Some("use a larger buffer (-b), or record fewer categories (-c)"),
            Self::Other(LossReason::TooLarge) => Some("use a larger buffer (-b)"),
            Self::Other(_) | Self::Unknown => None,
        }
    }
}

/// Returns the numbers of dropped records by cause, of `all` records.
pub(crate) fn by_cause(all: u64, by_reason: &[(LossReason, u64)]) -> Vec<(Cause, u64)> {
    let mut causes: Vec<(Cause, u64)> = Vec::new();
    let mut rest = all;
    let reasons = by_reason.iter().map(|(reason, number)| (Cause::of(*reason), *number));
    for (cause, number) in reasons.filter(|(_, number)| *number > 0) {
        rest = rest.saturating_sub(number);
        match causes.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, sum)) => *sum = sum.saturating_add(number),
            None => causes.push((cause, number)),
        }
    }
    causes.extend((rest > 0).then_some((Cause::Unknown, rest)));
    causes
}

/// Returns a warning for each cause for which a program dropped records.
pub(crate) fn warnings(name: &str, all: u64, by_reason: &[(LossReason, u64)]) -> Vec<String> {
    let warning = |(cause, number): (Cause, u64)| {
        let records = plural(number, "record", "records");
        let (number, why) = (HumanCount(number), cause.text("its buffer"));
        let hint = cause.hint().map_or_else(String::new, |hint| format!("{HINT}{hint}"));
        format!("{name} lost {number} {records}{why}{hint}")
    };
    by_cause(all, by_reason).into_iter().map(warning).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A larger buffer is a hint only if the buffer is the cause.
    #[test]
    fn each_cause_of_losses_is_reported() {
        let reasons = [
            (LossReason::BufferFull, 1002),
            (LossReason::NotSaved, 0),
            (LossReason::Nested, 3),
            (LossReason::InUse, 5),
            (LossReason::TooLarge, 1),
            (LossReason::NoSlot, 4),
        ];
        let expected = [
            "app lost 1,007 records because its buffer was full\
             \nhint: use a larger buffer (-b), or record fewer categories (-c)",
            "app lost 3 records: signal handler inside a record",
            "app lost 1 record: record larger than the buffer\nhint: use a larger buffer (-b)",
            "app lost 4 records: no memory for the thread yet",
        ];
        assert_eq!(warnings("app", 1015, &reasons), expected);
        assert_eq!(warnings("app", 2, &[]), ["app lost 2 records"]);
        assert_eq!(warnings("app", 0, &[]), [""; 0]);
    }
}
