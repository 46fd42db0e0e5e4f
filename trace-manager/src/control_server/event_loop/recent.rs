//! Replies to queries that many programs make expensive.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use trace_protocol::control::Reply;

use crate::control_server::machine::SessionId;

/// The time for which a reply is the reply to the next queries.
const INTERVAL: Duration = Duration::from_millis(100);

/// A query of the programs of a user, or of all, or of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    Providers(Option<u32>),
    KnownCategories(Option<u32>),
    Statistics(SessionId),
}

/// The last replies. Controllers may ask a thousand times a second. Each gets a copy, of up to the
/// size of a message: this takes less time than a query, which also delays the programs.
///
/// A reply with known categories may be as old as [`INTERVAL`].
#[derive(Debug, Default)]
pub(super) struct RecentReplies {
    replies: BTreeMap<Subject, (Instant, Reply)>,
    /// The number of changes of the providers when their lists were made.
    provider_changes: u64,
}

impl RecentReplies {
    /// Returns the last reply if it is new enough.
    pub(super) fn get(&self, subject: Subject, now: Instant) -> Option<Reply> {
        let (at, reply) = self.replies.get(&subject)?;
        is_recent(*at, now).then(|| reply.clone())
    }

    /// Keeps a reply for the next queries. Refused ones are not kept.
    pub(super) fn keep(&mut self, subject: Subject, now: Instant, reply: &Reply) {
        self.replies.retain(|_, (at, _)| is_recent(*at, now));
        if !matches!(reply, Reply::Failed(_)) {
            self.replies.insert(subject, (now, reply.clone()));
        }
    }

    /// Removes the lists of providers if there were changes since then.
    pub(super) fn providers_changed(&mut self, changes: u64) {
        if std::mem::replace(&mut self.provider_changes, changes) != changes {
            self.replies.retain(|subject, _| !matches!(subject, Subject::Providers(_)));
        }
    }

    /// Removes the replies about a session, whose state has changed.
    pub(super) fn forget(&mut self, session: SessionId) {
        self.replies.remove(&Subject::Statistics(session));
    }
}

fn is_recent(at: Instant, now: Instant) -> bool {
    now.saturating_duration_since(at) < INTERVAL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_of_a_user_share_a_reply_for_a_short_time() {
        let (mut replies, begin) = (RecentReplies::default(), Instant::now());
        let mut computed = 0;
        let mut query = |subject, after| {
            let now = begin + Duration::from_millis(after);
            replies.get(subject, now).unwrap_or_else(|| {
                computed += 1;
                let reply = Reply::Providers(Vec::new());
                replies.keep(subject, now, &reply);
                reply
            });
            computed
        };
        let (user, other) = (Subject::Providers(Some(1)), Subject::Providers(Some(2)));
        assert_eq!((0..100).map(|after| query(user, after)).max(), Some(1));
        assert_eq!([query(other, 50), query(user, 99), query(user, 100)], [2, 2, 3]);
        assert_eq!((replies.replies.len(), replies.replies.contains_key(&other)), (2, true));
    }

    #[test]
    fn earlier_replies_and_failures_are_not_kept() {
        let (mut replies, now) = (RecentReplies::default(), Instant::now());
        replies.keep(Subject::Statistics(1), now, &Reply::Statistics(Vec::new()));
        assert!(replies.get(Subject::Statistics(1), now).is_some());
        replies.forget(1);
        assert!(replies.get(Subject::Statistics(1), now).is_none());
        replies.keep(Subject::Statistics(2), now, &Reply::Statistics(Vec::new()));
        replies.keep(
            Subject::Statistics(3),
            now + INTERVAL,
            &super::super::failed(&"x".parse::<u8>().unwrap_err()),
        );
        assert!(replies.replies.is_empty());
    }
}
