//! Sessions that go on after a kill of the daemon.
//!
//! Each has a file in a folder that only the daemon's user can use. It is removed when the session
//! ends. A daemon that finds one starts the session again, in a next part of its archive.

#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{open, statat, AtFlags, Mode, OFlags};
use rustix::io::{retry_on_intr, Errno};
use rustix::process::geteuid;
use trace_protocol::archive::ClockSample;
use trace_protocol::control::{KeptItem, KeptSession, Output, TraceConfig};
use trace_protocol::file::random_name;
use trace_protocol::message::ClockSource;

use super::caller::Caller;
use super::output::path_of;
use super::{other, part_name};

/// The longest file that is read. A configuration has less than a message's body.
const MAX_FILE: u64 = 2 << 20;

/// How often, and at which interval, the file is read until the guard has noted the daemon's end.
const TRIES: usize = 100;
const INTERVAL: Duration = Duration::from_millis(10);

/// The begin of the name of a file that is not complete. Names of sessions follow the number of
/// the user.
const NEW: &str = ".new-";

/// The folder with the files of sessions.
#[derive(Debug)]
pub(super) struct KeptFolder(PathBuf);

/// The file of a session.
#[derive(Debug, Clone)]
pub(super) struct KeptFile(PathBuf);

/// The content of the folder.
#[derive(Debug, Default)]
pub(super) struct KeptSessions {
    pub(super) sessions: Vec<(KeptFile, KeptSession)>,
    /// What cannot be read, and why.
    pub(super) failures: Vec<(PathBuf, io::Error)>,
}

impl KeptFolder {
    /// Uses a folder, which is created with the first file.
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Writes the file of a session. It replaces that of an earlier part.
    pub(super) fn write(&self, session: KeptSession) -> io::Result<KeptFile> {
        match DirBuilder::new().mode(0o700).create(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        self.ensure_own()?;
        let path = self.0.join(format!("{}-{}", session.uid, session.config.name));
        // Threads of several sessions write at once.
        let new = self.0.join(random_name(OsStr::new(NEW), ""));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        let written = file.write_all(&KeptItem::Session(session).encode());
        if let Err(error) = written.and_then(|()| fs::rename(&new, &path)) {
            let _ = fs::remove_file(&new);
            return Err(error);
        }
        Ok(KeptFile(path))
    }

    /// Returns the sessions of a daemon that was killed, and what cannot be read, with the reason.
    /// Removes files that it had not completed: no session writes one yet.
    pub(super) fn read(&self) -> KeptSessions {
        let mut found = KeptSessions::default();
        let entries = match self.ensure_own().and_then(|()| fs::read_dir(&self.0)) {
            Ok(entries) => entries,
            // No session has had a file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return found,
            Err(error) => {
                found.failures.push((self.0.clone(), error));
                return found;
            }
        };
        for entry in entries {
            match entry {
                Ok(entry) if entry.file_name().as_encoded_bytes().starts_with(NEW.as_bytes()) => {
                    drop(fs::remove_file(entry.path()));
                }
                Ok(entry) => {
                    let file = KeptFile(entry.path());
                    match file.session() {
                        Ok(session) => found.sessions.push((file, session)),
                        Err(error) => found.failures.push((file.0, error)),
                    }
                }
                Err(error) => found.failures.push((self.0.clone(), error)),
            }
        }
        found
    }

    /// Fails unless the folder is one of this user that no other user can write.
    fn ensure_own(&self) -> io::Result<()> {
        let found = fs::symlink_metadata(&self.0)?;
        let is_own = found.is_dir() && found.uid() == geteuid().as_raw();
        match is_own && found.mode() & 0o022 == 0 {
            true => Ok(()),
            false => Err(other(format!("{} is not a folder of the daemon", self.0.display()))),
        }
    }
}

impl KeptFile {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Removes the file: the session has ended.
    pub(super) fn remove(&self) {
        // It may be removed already.
        let _ = fs::remove_file(&self.0);
    }

    /// Removes the file: the session does not go on because of an error. If the error may be over
    /// at the next start of the daemon, the file stays.
    pub(super) fn remove_after(&self, error: &io::Error) {
        let passing = [
            Errno::IO,
            Errno::STALE,
            Errno::NOTCONN,
            Errno::TIMEDOUT,
            Errno::INTR,
            Errno::NOMEM,
            Errno::MFILE,
            Errno::NFILE,
        ];
        if !Errno::from_io_error(error).is_some_and(|error| passing.contains(&error)) {
            self.remove();
        }
    }

    fn read(&self) -> io::Result<Vec<KeptItem>> {
        let mut bytes = Vec::new();
        open_file(&self.0, OFlags::RDONLY)?.take(MAX_FILE).read_to_end(&mut bytes)?;
        Ok(KeptItem::decode_all(&bytes))
    }

    fn items(&self) -> Vec<KeptItem> {
        self.read().unwrap_or_default()
    }

    fn session(&self) -> io::Result<KeptSession> {
        let mut sessions = self.read()?.into_iter().filter_map(|item| match item {
            KeptItem::Session(session) => Some(session),
            _ => None,
        });
        sessions.next().ok_or_else(|| other("it is damaged"))
    }

    /// Notes that the session's duration begins.
    pub(super) fn note_begin(&self) {
        self.note(&KeptItem::Began(since_boot()));
    }

    /// Notes that the session has stopped, and can start again.
    pub(super) fn note_pause(&self) {
        self.note(&KeptItem::Paused(since_boot()));
    }

    /// Notes that the session has started again.
    pub(super) fn note_start(&self) {
        self.note(&KeptItem::StartedAgain);
    }

    fn note(&self, item: &KeptItem) {
        match append(&self.0, item) {
            // The session ends meanwhile.
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                log::warn!("cannot write {}: {error}", self.0.display());
            }
            _ => {}
        }
    }

    /// Returns the rest of the duration of the session, zero if it has none; `None` if it is over.
    /// The time before the duration began does not count.
    pub(super) fn rest_of(&self, session: &KeptSession) -> Option<Duration> {
        let duration = session.config.duration;
        if duration.is_zero() || session.boot != boot() {
            return Some(duration);
        }
        let Some(began) = self.began_at() else { return Some(duration) };
        let rest = duration.checked_sub(since_boot().saturating_sub(began));
        rest.filter(|rest| !rest.is_zero())
    }

    /// Returns when the session's duration began, if it did.
    fn began_at(&self) -> Option<Duration> {
        self.items().into_iter().find_map(|item| match item {
            KeptItem::Began(at) => Some(at),
            _ => None,
        })
    }

    /// Returns when the session stopped, if it did not start again.
    fn paused_at(&self) -> Option<Duration> {
        let items = self.items();
        let mut changes = items.iter().rev().filter_map(|item| match item {
            KeptItem::Paused(at) => Some(Some(*at)),
            KeptItem::StartedAgain => Some(None),
            _ => None,
        });
        changes.next().flatten()
    }

    /// Returns the time at which the guard noticed the end of the daemon. Waits for it: the guard
    /// notices it when the next daemon does. Without a guard, the start of the session: what was
    /// recorded since may be missing. The result for a paused session is the time of the pause.
    pub(super) fn interrupted_at(&self, session: &KeptSession) -> Duration {
        if session.boot != boot() {
            return Duration::ZERO;
        }
        let ended = |item: &KeptItem| match item {
            KeptItem::Ended(at) => Some(*at),
            _ => None,
        };
        for _ in 0..TRIES {
            if let Some(at) = self.items().iter().rev().find_map(ended) {
                return self.paused_at().unwrap_or(at);
            }
            std::thread::sleep(INTERVAL);
        }
        self.paused_at().unwrap_or(session.started)
    }
}

/// A session before its start: the name of its output, and when an earlier part ended.
#[derive(Debug, Default)]
pub(super) struct NextPart {
    pub(super) file: Option<KeptFile>,
    pub(super) interrupted_at: Option<Duration>,
}

/// Writes the file of a session that starts, if it is to go on after a kill of the daemon.
/// `earlier` is its earlier part; the output gets the name of the next one then.
pub(super) fn keep(
    folder: Option<&KeptFolder>,
    config: &mut TraceConfig,
    directory: &OwnedFd,
    caller: Caller,
    earlier: Option<(KeptFile, KeptSession)>,
) -> io::Result<NextPart> {
    if !config.keep_alive {
        return Ok(NextPart::default());
    }
    let folder = folder.ok_or_else(|| other("no session goes on after a kill of this daemon"))?;
    let metadata = File::from(directory.try_clone()?).metadata()?;
    let path = path_of(directory).into_os_string().into_string();
    let path = path.map_err(|_| other("the path of the output's directory is no UTF-8"))?;
    let mut session = KeptSession {
        config: config.clone(),
        uid: caller.peer.uid,
        gid: caller.peer.gid,
        all_users: caller.all_users,
        directory: path,
        device: metadata.dev(),
        inode: metadata.ino(),
        part: 1,
        started: since_boot(),
        boot: boot(),
    };
    let mut interrupted_at = None;
    if let Some((file, earlier)) = earlier {
        interrupted_at = Some(file.interrupted_at(&earlier));
        session.part = next_part(directory, &config.output, earlier.part)?;
        config.output = name_of_part(&config.output, session.part);
    }
    let file = folder.write(session)?;
    Ok(NextPart { file: Some(file), interrupted_at })
}

/// Opens the directory of a session's output. Fails if the path leads to another one meanwhile.
pub(super) fn open_directory(session: &KeptSession) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = retry_on_intr(|| open(&session.directory, flags, Mode::empty()))?;
    let metadata = File::from(directory.try_clone()?).metadata()?;
    match (metadata.dev(), metadata.ino()) == (session.device, session.inode) {
        true => Ok(directory),
        false => Err(other(format!("{} is another directory now", session.directory))),
    }
}

/// Notes in the file of a session, if there is one, that the daemon has ended now.
pub(crate) fn note_end(file: &Path) -> io::Result<()> {
    append(file, &KeptItem::Ended(since_boot()))
}

fn append(file: &Path, item: &KeptItem) -> io::Result<()> {
    open_file(file, OFlags::WRONLY | OFlags::APPEND)?.write_all(&item.encode())
}

fn open_file(path: &Path, access: OFlags) -> io::Result<File> {
    let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(File::from(retry_on_intr(|| open(path, flags, Mode::empty()))?))
}

/// Returns the number of the next part for which there is no file.
fn next_part(directory: &OwnedFd, output: &Output, last: u64) -> io::Result<u64> {
    let is_free = |part: u64| match name_of_part(output, part) {
        Output::Descriptor => Ok(true),
        Output::Beneath(name) => {
            match statat(directory.as_fd(), name.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(_) => Ok(false),
                Err(Errno::NOENT) => Ok(true),
                Err(error) => Err(io::Error::from(error)),
            }
        }
    };
    first_free(last, is_free)
}

/// Returns a free number that follows `last` or one that is taken. The file system of a user may
/// have any file, so that not all numbers are tried, but at most 128.
fn first_free(last: u64, is_free: impl Fn(u64) -> io::Result<bool>) -> io::Result<u64> {
    let (mut taken, mut step) = (last, 1u64);
    let mut free = loop {
        let part = taken.checked_add(step).ok_or_else(|| other("no name of a part is free"))?;
        if is_free(part)? {
            break part;
        }
        (taken, step) = (part, step.saturating_mul(2));
    };
    while free - taken > 1 {
        let middle = taken + (free - taken) / 2;
        match is_free(middle)? {
            true => free = middle,
            false => taken = middle,
        }
    }
    Ok(free)
}

/// Returns the output of a part: `a/web.2.fxt` of `a/web.fxt`.
fn name_of_part(output: &Output, part: u64) -> Output {
    let Output::Beneath(name) = output else { return Output::Descriptor };
    let (parent, name) = match name.rsplit_once('/') {
        Some((parent, name)) => (format!("{parent}/"), name),
        None => (String::new(), name.as_str()),
    };
    let name = part_name(OsStr::new(name), part).to_string_lossy().into_owned();
    Output::Beneath(parent + &name)
}

/// Returns the time since the start of the machine.
fn since_boot() -> Duration {
    Duration::from_nanos(ClockSample::now().ticks(ClockSource::Boottime))
}

/// Returns the kernel's id of the time since the start of the machine.
fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim_end().to_owned()
}
