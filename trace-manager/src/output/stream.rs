//! Writes to outputs of other processes, which may not read them.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use rustix::event::{poll, PollFd, PollFlags};
use rustix::fs::{fstat, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::SendFlags;

/// The limits of an output that another process reads.
#[derive(Debug, Clone, Copy)]
pub struct StreamBounds {
    /// Bytes that wait in memory for the output. Beyond, the archive fails.
    pub unwritten: usize,
    /// Bytes of the archive. Beyond, the archive fails.
    pub size: u64,
    /// The time without progress after which an archive fails whose session has ended.
    pub patience: Duration,
}

/// Opens a pipe or a device again, so that writes of this process do not wait. `O_NONBLOCK` of the
/// descriptor itself would affect its other owners, who could also remove it.
pub(crate) fn open_nonblocking(output: OwnedFd) -> io::Result<OwnedFd> {
    let kind = FileType::from_raw_mode(fstat(&output)?.st_mode);
    if !matches!(kind, FileType::Fifo | FileType::CharacterDevice) {
        return Ok(output);
    }
    let path = format!("/proc/thread-self/fd/{}", output.as_raw_fd());
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(opened) => Ok(opened),
        // Another user has created it. Root, which serves other users, does not get this error.
        Err(Errno::ACCESS) => Ok(output),
        Err(Errno::NXIO) => Err(io::ErrorKind::BrokenPipe.into()),
        Err(error) => Err(error.into()),
    }
}

/// Writes some bytes. Does not wait for a socket.
pub(crate) fn write_some(mut output: &File, bytes: &[u8]) -> io::Result<usize> {
    match rustix::net::send(output, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
        Err(Errno::NOTSOCK) => output.write(bytes),
        sent => Ok(sent?),
    }
}

/// Waits until an output accepts bytes, or for `timeout`. Returns whether it does.
pub(crate) fn wait_writable(output: impl AsFd, timeout: Duration) -> io::Result<bool> {
    let millis = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
    match poll(&mut [PollFd::new(&output, PollFlags::OUT)], millis) {
        Ok(ready) => Ok(ready != 0),
        // A timeout that begins again is precise enough.
        Err(Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// The error of an output that is not read.
pub(crate) fn unread() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the output is not read")
}

/// Creates a pipe in blocking mode. Returns its ends for reading and writing.
#[cfg(test)]
pub(crate) fn test_pipe() -> (OwnedFd, OwnedFd) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    let (kind, cwd) = (FileType::Fifo, rustix::fs::CWD);
    rustix::fs::mknodat(cwd, &path, kind, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let open = |flags| rustix::fs::open(&path, flags, Mode::empty()).unwrap();
    (open(OFlags::RDONLY | OFlags::NONBLOCK), open(OFlags::WRONLY))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use rustix::fs::{fcntl_getfl, fcntl_setfl};

    use super::*;

    /// Writes until the output accepts no more.
    fn fill(output: &File) -> io::Error {
        loop {
            if let Err(error) = write_some(output, &[0; 4096]) {
                return error;
            }
        }
    }

    #[test]
    fn writes_to_blocking_pipes_and_sockets_do_not_wait() {
        let (reader, writer) = test_pipe();
        let pipe = File::from(open_nonblocking(writer.try_clone().unwrap()).unwrap());
        assert_eq!(fill(&pipe).kind(), io::ErrorKind::WouldBlock);
        assert!(
            !fcntl_getfl(&writer).unwrap().contains(OFlags::NONBLOCK),
            "the owner's is the same"
        );
        // Its owner cannot make writes wait.
        fcntl_setfl(&writer, OFlags::empty()).unwrap();
        assert_eq!(fill(&pipe).kind(), io::ErrorKind::WouldBlock);
        assert!(!wait_writable(&pipe, Duration::ZERO).unwrap());
        drop(reader);
        assert_eq!(fill(&pipe).kind(), io::ErrorKind::BrokenPipe);
        let error = open_nonblocking(writer).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);

        let (ours, theirs) = UnixStream::pair().unwrap();
        let socket = File::from(open_nonblocking(ours.into()).unwrap());
        assert_eq!(fill(&socket).kind(), io::ErrorKind::WouldBlock);
        drop(theirs);
        assert_eq!(fill(&socket).kind(), io::ErrorKind::BrokenPipe);
    }
}
