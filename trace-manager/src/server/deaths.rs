//! The deaths of programs, which are a condition of triggers.
//!
//! The connection of a program ends before its process has an exit status. A program that goes on
//! without a connection has not died.

use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use trace_protocol::socket::exit_status;

use super::ending::EndingProcess;
use super::state::EventLoop;
use crate::machine::{ProviderId, SessionNumber};
use crate::recording::Recording;
use crate::trigger::Condition;

/// The time between the ends of a connection and of its process.
const PATIENCE: Duration = Duration::from_secs(5);

/// The most processes of a user whose ends are awaited: each takes a descriptor.
const MOST: usize = 64;

/// The exit status of a panic in Rust.
const PANIC: i32 = 101;

/// The signals by which users and service managers end a program.
const ORDERLY: [Signal; 3] = [Signal::Hup, Signal::Int, Signal::Term];

impl EventLoop {
    /// Waits for the end of the process of a connection that ends now, if a session that records it
    /// has a trigger for deaths.
    pub(super) fn expect_end(&mut self, id: ProviderId) {
        self.note_packets_end(id);
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let sessions = std::mem::take(&mut connection.end_awaited_by);
        if sessions.is_empty() {
            return;
        }
        let (peer, deadline) = (connection.peer, Instant::now() + PATIENCE);
        if let Some(process) = connection.process.take() {
            self.forget_oldest_end(peer.uid);
            let ending = EndingProcess { process, peer, sessions, deadline };
            self.ending_processes.insert(id, ending);
        }
    }

    /// Notes the sessions that await the end of a program. If it dies, its packets end before its
    /// connection, and then it belongs to no session.
    pub(super) fn note_packets_end(&mut self, id: ProviderId) {
        let awaits = |session: &SessionNumber| {
            self.active.get(session).is_some_and(|it| it.recording.config().awaits_deaths())
        };
        let sessions: BTreeSet<_> = self.triggered_by(id).into_iter().filter(awaits).collect();
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.end_awaited_by.extend(sessions);
        }
    }

    /// Makes sure that few processes of a user are awaited.
    fn forget_oldest_end(&mut self, uid: u32) {
        let of_user = self.ending_processes.iter().filter(|(_, it)| it.peer.uid == uid);
        let ids: Vec<ProviderId> = of_user.map(|(id, _)| *id).collect();
        if let Some(oldest) = ids.first().filter(|_| ids.len() >= MOST) {
            self.ending_processes.remove(oldest);
        }
    }

    /// Stops waiting for processes that go on without their connections.
    pub(super) fn forget_late_ends(&mut self) {
        let now = Instant::now();
        self.ending_processes.retain(|_, it| it.deadline > now);
    }

    /// Handles the end of a process whose connection has ended before. Returns whether it was
    /// awaited.
    pub(super) fn awaited_process_ended(&mut self, id: ProviderId) -> bool {
        let Some(ended) = self.ending_processes.remove(&id) else { return false };
        let status = exit_status(ended.process.as_fd(), ended.peer.pid);
        if status.is_some_and(is_death) {
            for session in ended.sessions {
                self.hold(session, &Condition::Death);
                self.react_to(session, Recording::held_conditions);
            }
        }
        true
    }
}

fn is_death(status: ExitStatus) -> bool {
    match status.signal() {
        Some(signal) => !ORDERLY.map(|it| it as i32).contains(&signal),
        None => status.code() == Some(PANIC),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_death_is_a_panic_or_a_signal_that_ends_no_program_orderly() {
        let exit = |code: i32| ExitStatus::from_raw(code << 8);
        let signal = |signal: Signal| ExitStatus::from_raw(signal as i32);
        assert_eq!([0, 1, PANIC].map(|code| is_death(exit(code))), [false, false, true]);
        let signals = [Signal::Term, Signal::Int, Signal::Hup, Signal::Kill, Signal::Abort];
        let expected = [false, false, false, true, true];
        assert_eq!(signals.map(|it| is_death(signal(it))), expected);
    }
}
