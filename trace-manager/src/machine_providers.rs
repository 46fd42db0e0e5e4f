//! Providers that may write records about the whole machine: other processes, and processors.
//!
//! A provider gets this right from the program that runs the manager, never by its own word: the
//! program names the process, and the kernel says who is at the other end of a socket.

use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rustix::event::{poll, PollFd, PollFlags};
use rustix::process::{pidfd_open, Pid, PidfdFlags};
use trace_protocol::buffer::consumer::IdentityPolicy;
use trace_protocol::socket::PeerCredentials;

/// The processes that were named. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct MachineProviders(Arc<Mutex<Vec<Named>>>);

#[derive(Debug)]
struct Named {
    pid: u32,
    /// While this has not ended, no other process has its pid.
    process: OwnedFd,
    /// When the manager started it; `None` for a process of somebody else, which has to be root's.
    started: Option<Instant>,
}

impl MachineProviders {
    /// Starts a process and names it. Until that is done nobody's policy is decided.
    pub(crate) fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        let mut named = self.lock();
        let started = Some(Instant::now());
        let mut child = command.spawn()?;
        match open(child.id()) {
            Ok(process) => named.push(Named { pid: child.id(), process, started }),
            Err(error) => {
                // The caller gets no child, so nobody else would end it. It may have ended.
                let _ = child.kill();
                let _ = child.wait();
                return Err(error);
            }
        }
        Ok(child)
    }

    /// Names a process that runs. It counts as long as it is root's.
    pub(crate) fn allow(&self, pid: u32) -> io::Result<()> {
        let process = open(pid)?;
        self.lock().push(Named { pid, process, started: None });
        Ok(())
    }

    /// Returns about whom a provider may write records. `accepted` is when its connection was.
    pub(crate) fn policy(&self, peer: PeerCredentials, accepted: Instant) -> IdentityPolicy {
        let is_allowed = |named: &Named| match named.started {
            // A connection from before is that of an earlier process with this pid.
            Some(started) => accepted >= started,
            None => peer.uid == 0,
        };
        match self.lock().iter().any(|named| named.pid == peer.pid && is_allowed(named)) {
            true => IdentityPolicy::Machine,
            false => IdentityPolicy::Own(u64::from(peer.pid)),
        }
    }

    /// Returns the processes that have not ended.
    fn lock(&self) -> MutexGuard<'_, Vec<Named>> {
        let mut named = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        named.retain(|named| !has_ended(&named.process));
        named
    }
}

fn open(pid: u32) -> io::Result<OwnedFd> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(io::ErrorKind::InvalidInput)?;
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

/// Whether a process has ended: its descriptor is readable then (pidfd_open(2)).
fn has_ended(process: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(process, PollFlags::IN)];
    poll(&mut fds, 0) != Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(pid: u32, uid: u32) -> PeerCredentials {
        PeerCredentials { pid, uid, gid: uid }
    }

    fn own(pid: u32) -> IdentityPolicy {
        IdentityPolicy::Own(u64::from(pid))
    }

    #[test]
    fn a_process_that_was_not_named_writes_about_itself() {
        let providers = MachineProviders::default();
        let me = std::process::id();
        for uid in [0, 1000] {
            assert_eq!(providers.policy(peer(me, uid), Instant::now()), own(me));
        }
    }

    #[test]
    fn of_the_processes_that_others_started_only_those_of_root_count() {
        let providers = MachineProviders::default();
        let me = std::process::id();
        providers.allow(me).unwrap();
        assert_eq!(providers.policy(peer(me, 0), Instant::now()), IdentityPolicy::Machine);
        assert_eq!(providers.policy(peer(me, 1000), Instant::now()), own(me));
        assert_eq!(providers.policy(peer(1, 0), Instant::now()), own(1));
        assert!(providers.allow(0).is_err());
        assert!(providers.allow(u32::MAX).is_err());
    }

    #[test]
    fn a_child_counts_while_it_lives_and_for_connections_that_it_made() {
        let providers = MachineProviders::default();
        let before = Instant::now();
        let mut child = providers.spawn(Command::new("sleep").arg("1000")).unwrap();
        let peer = peer(child.id(), 1000);
        assert_eq!(providers.policy(peer, Instant::now()), IdentityPolicy::Machine);
        assert_eq!(providers.policy(peer, before), own(peer.pid));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(providers.policy(peer, Instant::now()), own(peer.pid));
        assert!(providers.lock().is_empty());
    }
}
