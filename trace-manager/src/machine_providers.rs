//! Providers that may write records about the whole machine: other processes, and processors.
//!
//! Only the program that runs the manager grants this right: it names the process, and the kernel
//! reports the process at the other end of a socket.

use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rustix::event::{poll, PollFd, PollFlags};
use rustix::process::{pidfd_open, Pid, PidfdFlags};
use trace_protocol::buffer::consumer::IdentityPolicy;
use trace_protocol::socket::PeerCredentials;

/// The processes that may write such records. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct MachineProviders(Arc<Mutex<Vec<MachineProcess>>>);

#[derive(Debug)]
struct MachineProcess {
    pid: u32,
    /// The process. Until it has ended, no other process has its pid.
    process: OwnedFd,
    /// When the manager started it. `None` for a process that somebody else started, which must run
    /// as root.
    started: Option<Instant>,
    /// Whether it is the companion of one session.
    is_companion: bool,
}

impl MachineProviders {
    /// Starts a process and adds it. No policy is decided meanwhile.
    pub(crate) fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        self.start(command, false)
    }

    /// Starts the companion of a session as [`spawn`](Self::spawn) does.
    pub(crate) fn spawn_companion(&self, command: &mut Command) -> io::Result<Child> {
        self.start(command, true)
    }

    fn start(&self, command: &mut Command, is_companion: bool) -> io::Result<Child> {
        let mut processes = self.lock();
        let started = Some(Instant::now());
        let mut child = command.spawn()?;
        match open(child.id()) {
            Ok(process) => {
                let pid = child.id();
                processes.push(MachineProcess { pid, process, started, is_companion });
            }
            Err(error) => {
                // The caller gets no child, so it is ended here. It may have ended already.
                let _ = child.kill();
                let _ = child.wait();
                return Err(error);
            }
        }
        Ok(child)
    }

    /// Adds a running process, which has the right only if it runs as root.
    pub(crate) fn allow(&self, pid: u32) -> io::Result<()> {
        let process = open(pid)?;
        let (started, is_companion) = (None, false);
        self.lock().push(MachineProcess { pid, process, started, is_companion });
        Ok(())
    }

    /// Returns whether a connection is that of a session's companion.
    pub(crate) fn is_companion(&self, peer: PeerCredentials, accepted: Instant) -> bool {
        let is_it = |it: &MachineProcess| it.is_companion && it.is_peer(peer, accepted);
        self.lock().iter().any(is_it)
    }

    /// Returns whether a connection is one of a process that the manager has started: a helper of a
    /// session, and no program to record.
    pub(crate) fn is_helper(&self, peer: PeerCredentials, accepted: Instant) -> bool {
        let is_it = |it: &MachineProcess| it.started.is_some() && it.is_peer(peer, accepted);
        self.lock().iter().any(is_it)
    }

    /// Returns the processes about which a provider may write records. `accepted` is the time at
    /// which its connection was accepted.
    pub(crate) fn policy(&self, peer: PeerCredentials, accepted: Instant) -> IdentityPolicy {
        match self.lock().iter().any(|process| process.is_peer(peer, accepted)) {
            true => IdentityPolicy::Machine,
            false => IdentityPolicy::Own(u64::from(peer.pid)),
        }
    }

    /// Locks the list and removes processes that have ended.
    fn lock(&self) -> MutexGuard<'_, Vec<MachineProcess>> {
        let mut processes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        processes.retain(|process| !has_ended(&process.process));
        processes
    }
}

impl MachineProcess {
    /// Returns whether a connection is one of this process, with its rights.
    fn is_peer(&self, peer: PeerCredentials, accepted: Instant) -> bool {
        let is_allowed = match self.started {
            // An older connection belongs to an earlier process with this pid.
            Some(started) => accepted >= started,
            None => peer.uid == 0,
        };
        self.pid == peer.pid && is_allowed
    }
}

fn open(pid: u32) -> io::Result<OwnedFd> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(io::ErrorKind::InvalidInput)?;
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

/// Returns whether a process has ended: its descriptor is readable then (pidfd_open(2)).
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
    fn an_unlisted_process_writes_about_itself() {
        let providers = MachineProviders::default();
        let me = std::process::id();
        for uid in [0, 1000] {
            assert_eq!(providers.policy(peer(me, uid), Instant::now()), own(me));
        }
    }

    #[test]
    fn an_allowed_process_must_run_as_root() {
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
    fn only_companions_belong_to_a_session() {
        let providers = MachineProviders::default();
        let before = Instant::now();
        let mut command = Command::new("sleep");
        let command = command.arg("1000");
        let mut companion = providers.spawn_companion(command).unwrap();
        let mut other = providers.spawn(command).unwrap();
        let is_companion = |pid, accepted| providers.is_companion(peer(pid, 1000), accepted);
        assert!(is_companion(companion.id(), Instant::now()));
        let is_helper = |pid, accepted| providers.is_helper(peer(pid, 1000), accepted);
        assert!(is_helper(companion.id(), Instant::now()) && is_helper(other.id(), Instant::now()));
        assert!(!is_helper(companion.id(), before));
        assert!(!is_companion(companion.id(), before) && !is_companion(other.id(), Instant::now()));
        for child in [&mut companion, &mut other] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(!is_companion(companion.id(), Instant::now()));
    }

    #[test]
    fn a_spawned_process_has_the_right_until_it_ends_and_for_its_own_connections() {
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
