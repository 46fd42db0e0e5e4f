//! The queue of the notices of a session.

use std::collections::VecDeque;
use std::mem::discriminant;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Notice;

/// The number of notices that can wait for the caller. Alerts use half of it: the notices of their
/// effects are more important.
const CAPACITY: usize = 1024;

/// The number of parts that can wait behind a full queue: callers act on each.
const MOST_PARTS: usize = 64 << 10;

impl Notice {
    /// Returns whether a caller may wait for it. If the queue is full, it replaces the earlier ones
    /// of its kind, and is behind all others.
    fn is_kept(&self) -> bool {
        match self {
            Self::Stopped
            | Self::StartedAgain
            | Self::Started
            | Self::Stopping { .. }
            | Self::GuardFailed { .. } => true,
            Self::Alert { .. }
            | Self::Snapshot { .. }
            | Self::Part { .. }
            | Self::Refused(_)
            | Self::Restart { .. } => false,
        }
    }
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    notices: VecDeque<Notice>,
    /// The last parts, in order. They are behind all other notices.
    parts: VecDeque<PathBuf>,
    /// Whether no sender is left.
    is_closed: bool,
    /// Whether the receiver is gone.
    is_abandoned: bool,
}

impl Queue {
    /// Appends a notice if it has space. A quarter of the space is for notices that programs cause
    /// which the session does not heed: they displace no others.
    fn push(&mut self, notice: Notice, is_heeded: bool) {
        if self.is_abandoned {
            return;
        }
        let capacity = match notice {
            Notice::Alert { .. } => CAPACITY / 2,
            _ => CAPACITY,
        };
        let capacity = if is_heeded { capacity } else { capacity / 4 };
        if let Notice::Part { path } = notice {
            return self.push_part(path);
        }
        if self.notices.len() >= capacity {
            if !notice.is_kept() {
                return;
            }
            self.notices.retain(|it| discriminant(it) != discriminant(&notice));
        }
        self.notices.push_back(notice);
    }

    /// Appends a part. If the queue is full, it is behind all others, and later parts are behind
    /// it.
    fn push_part(&mut self, path: PathBuf) {
        if self.notices.len() < CAPACITY && self.parts.is_empty() {
            return self.notices.push_back(Notice::Part { path });
        }
        if self.parts.len() >= MOST_PARTS {
            self.parts.pop_front();
        }
        self.parts.push_back(path);
    }

    fn pop(&mut self) -> Option<Notice> {
        let part = |path| Notice::Part { path };
        self.notices.pop_front().or_else(|| self.parts.pop_front().map(part))
    }

    fn is_empty(&self) -> bool {
        self.notices.is_empty() && self.parts.is_empty()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes the queue when the last sender is dropped.
#[derive(Debug)]
struct Closer(Arc<Shared>);

impl Drop for Closer {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.changed.notify_all();
    }
}

/// The session's end of the queue.
#[derive(Debug, Clone)]
pub(crate) struct NoticeSender(Arc<Closer>);

/// The caller's end of the queue.
#[derive(Debug)]
pub(crate) struct NoticeReceiver(Arc<Shared>);

impl NoticeSender {
    pub(crate) fn new() -> (Self, NoticeReceiver) {
        let shared = Arc::<Shared>::default();
        (Self(Arc::new(Closer(Arc::clone(&shared)))), NoticeReceiver(shared))
    }

    /// Sends a notice without waiting. If the queue is full, drops it, unless a caller may wait for
    /// it, or it is a part. Without a receiver, drops it.
    pub(crate) fn send(&self, notice: Notice) {
        self.send_of(true, notice);
    }

    /// Sends a notice that a program causes, as [`send`](Self::send) does. `is_heeded` is whether
    /// the program may cause actions of triggers.
    pub(crate) fn send_of(&self, is_heeded: bool, notice: Notice) {
        let shared = &self.0 .0;
        shared.lock().push(notice, is_heeded);
        shared.changed.notify_all();
    }
}

impl NoticeReceiver {
    /// Waits for the next notice, for at most `timeout`. Returns `None` at once if there are none
    /// and no sender is left.
    pub(crate) fn receive(&self, timeout: Duration) -> Option<Notice> {
        let shared = &self.0;
        let waits = |queue: &mut Queue| queue.is_empty() && !queue.is_closed;
        let waited = shared.changed.wait_timeout_while(shared.lock(), timeout, waits);
        let (mut queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
        queue.pop()
    }

    /// Returns the notices so far.
    #[cfg(test)]
    pub(crate) fn try_iter(&self) -> impl Iterator<Item = Notice> + '_ {
        std::iter::from_fn(|| self.receive(Duration::ZERO))
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.0.lock().notices.len()
    }
}

impl Drop for NoticeReceiver {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.is_abandoned = true;
        queue.notices.clear();
        queue.parts.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trigger::Cause;

    const LONG: Duration = Duration::from_secs(60);

    fn alert(pid: u32) -> Notice {
        Notice::Alert { name: "alert".to_owned(), pid, is_heeded: true }
    }

    fn restart(pid: u32) -> Notice {
        Notice::Restart { name: "program".to_owned(), pid }
    }

    fn stopping() -> Notice {
        Notice::Stopping { cause: Cause::Alert("alert".to_owned()) }
    }

    /// A caller that receives late still gets the effects of alerts.
    #[test]
    fn alerts_leave_half_of_the_space_to_other_notices() {
        let (notices, receiver) = NoticeSender::new();
        (0..2000).for_each(|pid| notices.send(alert(pid)));
        assert_eq!(receiver.len(), 512);
        (0..2000).for_each(|pid| notices.send(restart(pid)));
        assert_eq!(receiver.len(), 1024);
        notices.send(alert(0));
        let received: Vec<_> = receiver.try_iter().collect();
        assert!(received[..512].iter().zip(0..).all(|(notice, pid)| *notice == alert(pid)));
        assert!(received[512..].iter().zip(0..).all(|(notice, pid)| *notice == restart(pid)));
        notices.send(alert(7));
        assert_eq!(receiver.receive(LONG), Some(alert(7)), "the queue has space again");
    }

    #[test]
    fn programs_that_are_not_heeded_leave_three_quarters_of_the_space_to_others() {
        let (notices, receiver) = NoticeSender::new();
        (0..2000).for_each(|pid| notices.send_of(false, alert(pid)));
        assert_eq!(receiver.len(), 128);
        (0..2000).for_each(|pid| notices.send_of(false, restart(pid)));
        assert_eq!(receiver.len(), 256);
        (0..2000).for_each(|pid| notices.send(alert(pid)));
        assert_eq!(receiver.len(), 512);
        (0..2000).for_each(|pid| notices.send(restart(pid)));
        assert_eq!(receiver.len(), 1024);
    }

    /// Else the caller would wait for ever.
    #[test]
    fn notices_that_callers_wait_for_are_in_a_full_queue_too() {
        let (notices, receiver) = NoticeSender::new();
        (0..2000).for_each(|pid| notices.send(restart(pid)));
        for _ in 0..2000 {
            notices.send(Notice::Stopped);
            notices.send(Notice::StartedAgain);
            notices.send(Notice::Started);
        }
        notices.send(Notice::GuardFailed { reason: "reason".to_owned() });
        notices.send(stopping());
        let received: Vec<_> = receiver.try_iter().collect();
        let guard = Notice::GuardFailed { reason: "reason".to_owned() };
        let expected = [Notice::Stopped, Notice::StartedAgain, Notice::Started, guard, stopping()];
        assert_eq!((received.len(), &received[1024..]), (1029, &expected[..]));
    }

    /// Also while other notices fill the queue.
    #[test]
    fn no_part_is_lost_and_their_order_stays() {
        let (notices, receiver) = NoticeSender::new();
        let part = |number: u32| Notice::Part { path: format!("{number}.fxt").into() };
        for number in 0..3000 {
            notices.send(part(number));
            notices.send(restart(number));
        }
        notices.send(Notice::Stopped);
        let mut received: Vec<_> = receiver.try_iter().take(500).collect();
        notices.send(part(3000));
        received.extend(receiver.try_iter());
        received.retain(|notice| matches!(notice, Notice::Part { .. }));
        assert!(received.iter().eq((0..=3000).map(part).collect::<Vec<_>>().iter()));
    }

    #[test]
    fn the_last_parts_wait_without_a_caller_that_receives() {
        let (notices, receiver) = NoticeSender::new();
        let part = |number: usize| Notice::Part { path: number.to_string().into() };
        let number = CAPACITY + MOST_PARTS + 2;
        (0..number).for_each(|number| notices.send(part(number)));
        let received: Vec<_> = receiver.try_iter().collect();
        assert_eq!(received.len(), CAPACITY + MOST_PARTS);
        assert_eq!((&received[0], received.last()), (&part(0), Some(&part(number - 1))));
    }

    /// The session may go on for a long time.
    #[test]
    fn notices_without_a_receiver_take_no_memory() {
        let (notices, receiver) = NoticeSender::new();
        let waiting = || notices.0 .0.lock().notices.len();
        (0..2).for_each(|pid| notices.send(alert(pid)));
        assert_eq!(waiting(), 2);
        drop(receiver);
        assert_eq!(waiting(), 0);
        notices.send(alert(2));
        notices.send(stopping());
        assert_eq!(waiting(), 0);
    }

    #[test]
    fn a_receiver_does_not_wait_for_senders_that_are_gone() {
        let (notices, receiver) = NoticeSender::new();
        let other = notices.clone();
        notices.send(stopping());
        drop(notices);
        assert_eq!(receiver.receive(LONG), Some(stopping()));
        assert_eq!(receiver.receive(Duration::ZERO), None);
        other.send(Notice::Stopped);
        let waiting = std::thread::spawn(move || (receiver.receive(LONG), receiver.receive(LONG)));
        drop(other);
        assert_eq!(waiting.join().unwrap(), (Some(Notice::Stopped), None));
    }
}
