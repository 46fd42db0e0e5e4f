//! The outputs that controllers pass.
//!
//! A daemon that runs as root writes for other users. It must not write to places where they could
//! not: a descriptor has to be open for writing, and a directory of such a user has to belong to
//! them, without write permission for others. The new file then belongs to them, too.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{fchown, FileTypeExt, MetadataExt};
use std::path::PathBuf;

use rustix::fs::{fcntl_getfl, openat2, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::process::geteuid;
use trace_protocol::control::Output;
use trace_protocol::file::{Directory, NewFile, Place};
use trace_protocol::socket::PeerCredentials;

use super::other;
use crate::output::stream::open_nonblocking;

/// The most attempts to open a directory. Another user may rename directories all the time.
const OPEN_ATTEMPTS: usize = 32;

/// An output that is open.
#[derive(Debug)]
pub(super) enum OpenOutput {
    /// A file, pipe or socket of the controller.
    Stream(OwnedFd),
    /// A new file.
    New(NewFile),
}

impl OpenOutput {
    /// Opens the output of a controller.
    /// This may wait for the file system of the controller.
    pub(super) fn open(
        output: &Output,
        descriptor: OwnedFd,
        peer: PeerCredentials,
    ) -> io::Result<Self> {
        match output {
            Output::Descriptor => check_stream(descriptor).map(Self::Stream),
            Output::Beneath(name) => create(&descriptor, name, peer).map(Self::New),
        }
    }

    /// Returns the file, pipe or socket of the controller.
    pub(super) fn into_stream(self) -> io::Result<OwnedFd> {
        match self {
            Self::Stream(descriptor) => Ok(descriptor),
            Self::New(_) => Err(other("the output is not a file, a pipe or a socket")),
        }
    }

    /// Returns its name for people.
    pub(super) fn description(&self) -> String {
        let path = match self {
            Self::New(file) => file.place().path(),
            Self::Stream(descriptor) => path_of(descriptor),
        };
        path.to_string_lossy().into_owned()
    }
}

/// Returns whether the daemon has permissions that the controller lacks.
pub(super) fn is_deputy(peer: PeerCredentials) -> bool {
    peer.uid != 0 && peer.uid != geteuid().as_raw()
}

fn check_stream(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    let access = fcntl_getfl(&descriptor)?;
    let is_writable = access.intersects(OFlags::WRONLY | OFlags::RDWR);
    if access.contains(OFlags::PATH) || !is_writable {
        return Err(other("the output is not open for writing"));
    }
    let file = File::from(descriptor);
    let kind = file.metadata()?.file_type();
    if kind.is_dir() || kind.is_block_device() {
        return Err(other("the output is not a file, a pipe or a socket"));
    }
    // The controller may not read it.
    open_nonblocking(file.into())
}

/// Creates a file beneath a directory. Neither `..` nor links lead out of it.
fn create(directory: &OwnedFd, name: &str, peer: PeerCredentials) -> io::Result<NewFile> {
    let (parent, name) = name.rsplit_once('/').unwrap_or((".", name));
    let parent = open_beneath(directory, parent).map_err(|error| match error {
        Errno::XDEV => other("the output is outside of its directory"),
        Errno::NOSYS => other("the kernel has no openat2 (Linux 5.6)"),
        error => error.into(),
    })?;
    let path = path_of(&parent);
    if is_deputy(peer) {
        check_owner(&parent, peer)?;
    }
    let place = Place::beneath(Directory::from_fd(parent, path), OsString::from(name))?;
    let file = NewFile::findable(place)?;
    if is_deputy(peer) {
        fchown(file.file().as_fd(), Some(peer.uid), Some(peer.gid))?;
    }
    Ok(file)
}

/// Opens a directory beneath another one. Tries again if a signal or a rename interferes.
fn open_beneath(directory: &OwnedFd, path: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let open = || openat2(directory, path, flags, Mode::empty(), beneath);
    let interferes = |opened: &Result<_, Errno>| matches!(opened, Err(Errno::INTR | Errno::AGAIN));
    let mut opened = open();
    for _ in 1..OPEN_ATTEMPTS {
        if !interferes(&opened) {
            break;
        }
        opened = open();
    }
    opened
}

/// Checks that only the controller's user can change names in the directory.
fn check_owner(directory: &OwnedFd, peer: PeerCredentials) -> io::Result<()> {
    let metadata = File::from(directory.try_clone()?).metadata()?;
    match metadata.uid() == peer.uid && metadata.mode() & 0o022 == 0 {
        true => Ok(()),
        false => Err(other(
            "the directory does not belong to this user alone, and the daemon has another user\n\
             hint: pass a file or a pipe, or use a directory of your own",
        )),
    }
}

/// Returns the path of an open file, for people.
pub(super) fn path_of(file: &OwnedFd) -> PathBuf {
    std::fs::read_link(format!("/proc/thread-self/fd/{}", file.as_raw_fd())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{chown, symlink, PermissionsExt};
    use std::path::Path;

    use super::*;

    const USER: u32 = 12345;

    fn peer(uid: u32) -> PeerCredentials {
        PeerCredentials { pid: 1, uid, gid: uid }
    }

    fn me() -> PeerCredentials {
        peer(geteuid().as_raw())
    }

    fn open(directory: &Path, name: &str, peer: PeerCredentials) -> io::Result<OpenOutput> {
        let directory = File::open(directory)?.into();
        OpenOutput::open(&Output::Beneath(name.to_owned()), directory, peer)
    }

    #[test]
    fn an_output_is_beneath_its_directory() {
        let directory = tempfile::tempdir().unwrap();
        let (inner, outside) = (directory.path().join("in"), directory.path().join("out"));
        fs::create_dir_all(inner.join("sub")).unwrap();
        fs::create_dir(&outside).unwrap();
        symlink(&outside, inner.join("link")).unwrap();
        symlink("../out", inner.join("up")).unwrap();
        symlink(outside.join("file"), inner.join("file")).unwrap();
        symlink("sub", inner.join("within")).unwrap();
        for name in ["link/a", "up/a", "../out/a", "sub/../../out/a"] {
            let error = open(&inner, name, me()).unwrap_err().to_string();
            assert_eq!(error, "the output is outside of its directory", "{name}");
        }
        assert!(open(&inner, "file", me()).is_err(), "a link is not followed");
        for name in ["a", "sub/a", "within/b"] {
            let output = open(&inner, name, me()).unwrap();
            let parent = inner.canonicalize().unwrap();
            let expected = parent.join(name.replace("within", "sub"));
            assert_eq!(output.description(), expected.to_str().unwrap());
        }
        assert!(fs::read_dir(&outside).unwrap().next().is_none());
    }

    #[test]
    fn a_descriptor_must_be_writable() {
        let stream = |file: File| OpenOutput::open(&Output::Descriptor, file.into(), me());
        let file = tempfile::NamedTempFile::new().unwrap();
        let output = stream(file.reopen().unwrap()).unwrap();
        assert_eq!(output.description(), file.path().to_str().unwrap());
        assert!(stream(File::open(file.path()).unwrap()).is_err(), "read only");
        assert!(stream(File::open("/").unwrap()).is_err(), "a directory");
    }

    /// The daemon of root does not write where its client could not.
    #[test]
    fn another_user_needs_a_directory_of_their_own() {
        if !geteuid().is_root() {
            eprintln!("skipped: this test needs root");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        assert!(open(path, "a", peer(USER)).is_err(), "root's directory");
        chown(path, Some(USER), Some(USER)).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
        assert!(open(path, "a", peer(USER)).is_err(), "others can write it");
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        let Ok(OpenOutput::New(file)) = open(path, "a", peer(USER)) else { panic!("it is theirs") };
        file.complete().unwrap();
        let metadata = fs::metadata(path.join("a")).unwrap();
        assert_eq!((metadata.uid(), metadata.gid()), (USER, USER));
    }
}
