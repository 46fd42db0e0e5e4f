//! A process that ends or stops when the tracer is to stop or to wake, so that one call waits for
//! this and for the traced threads.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{Mode, OFlags, RawDir};
use rustix::process::{kill_process, Pid, Signal};

use super::ptrace::Tid;

/// Creates a process that stops at bytes in the pipe `read`, and ends when `write`, the other
/// end, is closed. Both are events of [`wait_any`](super::ptrace::wait_any). [`wake`] continues it.
pub(super) fn spawn(read: &OwnedFd, write: &OwnedFd) -> io::Result<Tid> {
    // SAFETY: the child makes only async-signal-safe calls, and never returns from this function.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => wait_for_close(read, write),
        pid => Ok(Tid(pid)),
    }
}

/// Waits in the child of [`spawn`].
fn wait_for_close(read: &OwnedFd, write: &OwnedFd) -> ! {
    // SAFETY: the descriptor is that of the child, which does not use it again.
    unsafe { libc::close(write.as_raw_fd()) };
    // SAFETY: both arguments are descriptors, or the call fails and the child ends early.
    unsafe { libc::dup2(read.as_raw_fd(), 0) };
    close_others();
    // One stop for all bytes so far: the end must not wait for many of them.
    let mut bytes = [0_u8; 512];
    // SAFETY: `bytes` has space for as many bytes.
    while unsafe { libc::read(0, bytes.as_mut_ptr().cast(), bytes.len()) } > 0 {
        // SAFETY: the call stops this process only, and touches no memory.
        unsafe { libc::raise(libc::SIGSTOP) };
    }
    // SAFETY: `_exit` ends the child without code of this process.
    unsafe { libc::_exit(0) }
}

/// Continues the child of [`spawn`] after a stop.
pub(super) fn wake(tripwire: Tid) -> io::Result<()> {
    let pid = Pid::from_raw(tripwire.0).ok_or(io::ErrorKind::NotFound)?;
    kill_process(pid, Signal::Cont).map_err(Into::into)
}

/// Closes all descriptors but 0, which the child of [`spawn`] would keep open.
fn close_others() {
    // SAFETY: the call closes descriptors of the child only, which uses none of them again.
    if unsafe { libc::syscall(libc::SYS_close_range, 1, u32::MAX, 0) } == 0 {
        return;
    }
    // A kernel before Linux 5.9, or a sandbox. Nothing here allocates.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let Ok(directory) = rustix::fs::open(c"/proc/self/fd", flags, Mode::empty()) else { return };
    let mut buffer = [MaybeUninit::uninit(); 1024];
    let mut entries = RawDir::new(&directory, &mut buffer);
    while let Some(Ok(entry)) = entries.next() {
        let number = entry.file_name().to_str().ok().and_then(|name| name.parse().ok());
        let Some(number) = number.filter(|it| *it > 0 && *it != directory.as_raw_fd()) else {
            continue;
        };
        // SAFETY: as above; the descriptor of the directory is not among them.
        unsafe { libc::close(number) };
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::time::{Duration, Instant};

    use rustix::event::{poll, PollFd, PollFlags};
    use rustix::pipe::{pipe_with, PipeFlags};

    use super::*;
    use crate::step::refuse;

    #[test]
    fn a_tripwire_has_no_other_descriptors_without_close_range() {
        refuse(libc::SYS_close_range);
        let pipe = || pipe_with(PipeFlags::CLOEXEC).unwrap();
        let ((read, write), (other, other_write)) = (pipe(), pipe());
        let tid = spawn(&read, &write).unwrap();
        drop(other_write);
        let ends = |descriptor: OwnedFd| {
            let mut polled = [PollFd::new(&descriptor, PollFlags::IN)];
            poll(&mut polled, 60_000).unwrap() == 1
                && File::from(descriptor).read(&mut [0]).unwrap() == 0
        };
        assert!(ends(other), "the other end is open in the child");
        drop(write);
        let (begin, mut status) = (Instant::now(), 0);
        // SAFETY: waitpid writes one `c_int`.
        while unsafe { libc::waitpid(tid.0, &raw mut status, libc::WNOHANG) } == 0 {
            assert!(begin.elapsed() < Duration::from_secs(60), "the child has its own other end");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(libc::WIFEXITED(status));
    }
}
