//! Sums of losses.

use std::collections::BTreeMap;

use trace_format::layout::cut_str;
use trace_format::ThreadKoids;

use super::Dropped;
use crate::Loss;

/// The most rows. Further losses share one more row.
const MAX_ROWS: usize = 4096;

/// The most bytes of a reason.
const MAX_REASON_BYTES: usize = 256;

/// Provider, process koid, thread koid and reason.
type Key = (Option<u32>, u64, u64, String);

/// Losses by provider, thread and reason.
#[derive(Debug, Default)]
pub(super) struct Tally {
    rows: BTreeMap<Key, u64>,
}

impl Tally {
    pub(super) fn add(&mut self, provider: Option<u32>, loss: &Loss<'_>) {
        let reason = cut_str(&loss.reason, MAX_REASON_BYTES).to_owned();
        let mut key = (provider, loss.thread.process, loss.thread.thread, reason);
        if self.rows.len() >= MAX_ROWS && !self.rows.contains_key(&key) {
            key = (None, 0, 0, "many others".to_owned());
        }
        let number = self.rows.entry(key).or_default();
        *number = number.saturating_add(loss.number);
    }

    pub(super) fn into_rows(self) -> Vec<Dropped> {
        let row = |((provider, process, thread, reason), number)| {
            let thread = ThreadKoids::new(process, thread);
            Dropped { provider, thread, reason, number }
        };
        self.rows.into_iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_limited() {
        let mut tally = Tally::default();
        for thread in 0..MAX_ROWS as u64 + 5 {
            let thread = ThreadKoids::new(1, thread);
            tally.add(Some(1), &Loss { thread, reason: "x".into(), number: 2 });
        }
        let rows = tally.into_rows();
        assert_eq!(rows.len(), MAX_ROWS + 1);
        let others = rows.iter().find(|row| row.provider.is_none()).unwrap();
        assert_eq!((others.reason.as_str(), others.number), ("many others", 10));
    }
}
