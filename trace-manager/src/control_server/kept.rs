//! Sessions that go on after a kill of the daemon.
//!
//! Each has a file in a folder that only the daemon's user can use. It is removed when the session
//! ends. A daemon that finds one starts the session again, in a next part of its archive.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{open, statat, AtFlags, Mode, OFlags};
use rustix::process::geteuid;
use trace_protocol::archive::ClockSample;
use trace_protocol::control::{KeptItem, KeptSession, Output, TraceConfig};
use trace_protocol::file::random_name;
use trace_protocol::message::ClockSource;
use trace_protocol::socket::PeerCredentials;

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

    /// Returns the sessions of a daemon that was killed. Removes files that it had not completed:
    /// no session writes one yet.
    pub(super) fn read(&self) -> Vec<(KeptFile, KeptSession)> {
        let entries = self.ensure_own().and_then(|()| fs::read_dir(&self.0));
        let Ok(entries) = entries else { return Vec::new() };
        let is_new =
            |it: &fs::DirEntry| it.file_name().as_encoded_bytes().starts_with(NEW.as_bytes());
        let (new, files): (Vec<_>, Vec<_>) = entries.flatten().partition(is_new);
        new.iter().for_each(|it| drop(fs::remove_file(it.path())));
        let files = files.into_iter().map(|entry| KeptFile(entry.path()));
        files.filter_map(|file| Some((file.clone(), file.session()?))).collect()
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

    fn items(&self) -> Vec<KeptItem> {
        let mut bytes = Vec::new();
        let read = open_file(&self.0, OFlags::RDONLY)
            .and_then(|file| file.take(MAX_FILE).read_to_end(&mut bytes));
        read.map_or(Vec::new(), |_| KeptItem::decode_all(&bytes))
    }

    fn session(&self) -> Option<KeptSession> {
        self.items().into_iter().find_map(|item| match item {
            KeptItem::Session(session) => Some(session),
            _ => None,
        })
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
    peer: PeerCredentials,
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
        uid: peer.uid,
        gid: peer.gid,
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
        session.part = next_part(directory, &config.output, earlier.part);
        config.output = name_of_part(&config.output, session.part);
    }
    let file = folder.write(session)?;
    Ok(NextPart { file: Some(file), interrupted_at })
}

/// Opens the directory of a session's output. Fails if the path leads to another one meanwhile.
pub(super) fn open_directory(session: &KeptSession) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = open(&session.directory, flags, Mode::empty())?;
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
    Ok(File::from(open(path, flags, Mode::empty())?))
}

/// Returns the number of the next part for which there is no file.
fn next_part(directory: &OwnedFd, output: &Output, last: u64) -> u64 {
    let is_free = |part: &u64| match name_of_part(output, *part) {
        Output::Descriptor => true,
        Output::Beneath(name) => {
            statat(directory.as_fd(), name.as_str(), AtFlags::SYMLINK_NOFOLLOW).is_err()
        }
    };
    (last.saturating_add(1)..).find(is_free).unwrap_or(u64::MAX)
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{symlink, PermissionsExt};

    use super::*;

    fn config() -> TraceConfig {
        TraceConfig {
            name: "web".to_owned(),
            output: Output::Beneath("a.fxt".to_owned()),
            keep_alive: true,
            ..TraceConfig::default()
        }
    }

    fn me() -> PeerCredentials {
        PeerCredentials { pid: 1, uid: geteuid().as_raw(), gid: 0 }
    }

    struct Place {
        directory: tempfile::TempDir,
        folder: KeptFolder,
    }

    impl Place {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let folder = KeptFolder::new(directory.path().join("sessions"));
            Self { directory, folder }
        }

        /// Starts the session. Returns its output.
        fn keep(&self, earlier: Option<(KeptFile, KeptSession)>) -> (NextPart, Output) {
            let directory = File::open(self.directory.path()).unwrap().into();
            let mut config = config();
            let part = keep(Some(&self.folder), &mut config, &directory, me(), earlier).unwrap();
            (part, config.output)
        }

        fn only(&self) -> (KeptFile, KeptSession) {
            self.folder.read().pop().unwrap()
        }
    }

    #[test]
    fn a_stopped_session_is_interrupted_from_its_stop_on() {
        let place = Place::new();
        place.keep(None);
        let (file, session) = place.only();
        let ended_at = || {
            note_end(file.path()).unwrap();
            file.interrupted_at(&session)
        };
        file.note_pause();
        let stopped = file.paused_at().unwrap();
        assert_eq!(ended_at(), stopped);
        file.note_start();
        assert!(ended_at() > stopped);
    }

    #[test]
    fn a_session_goes_on_in_its_next_part_from_the_end_that_the_guard_has_noted() {
        let place = Place::new();
        assert!(place.folder.read().is_empty());
        let (first, output) = place.keep(None);
        assert_eq!((&first.interrupted_at, &output), (&None, &config().output));
        for part in [2, 3] {
            let (file, session) = place.only();
            let before = since_boot();
            note_end(file.path()).unwrap();
            let (next, output) = place.keep(Some((file, session)));
            let at = next.interrupted_at.unwrap();
            assert!(before <= at && at <= since_boot());
            assert_eq!(output, Output::Beneath(format!("a.{part}.fxt")));
            assert_eq!(place.only().1.config, config(), "the output of the first part");
        }
        place.only().0.remove();
        assert!(place.folder.read().is_empty());
        assert!(note_end(&place.directory.path().join("sessions/missing")).is_err());
        let entries = fs::read_dir(place.directory.path().join("sessions")).unwrap();
        assert_eq!(entries.count(), 0);
    }

    #[test]
    fn several_sessions_write_their_files_at_once() {
        let place = Place::new();
        place.keep(None);
        let session = place.only().1;
        let write = |name: String| {
            let config = TraceConfig { name, ..config() };
            for _ in 0..50 {
                place
                    .folder
                    .write(KeptSession { config: config.clone(), ..session.clone() })
                    .unwrap();
            }
        };
        std::thread::scope(|scope| {
            for number in 0..4 {
                let write = &write;
                scope.spawn(move || write(format!("s{number}")));
            }
        });
        for (file, session) in place.folder.read() {
            let name = file.path().file_name().unwrap().to_string_lossy().into_owned();
            assert!(name.ends_with(&session.config.name), "{name}: {}", session.config.name);
        }
        assert_eq!(place.folder.read().len(), 5);
    }

    #[test]
    fn a_file_that_was_not_completed_is_no_session() {
        let place = Place::new();
        place.keep(None);
        let (file, _) = place.only();
        let new = file.path().with_file_name(".new-4242");
        fs::copy(file.path(), &new).unwrap();
        assert_eq!(place.folder.read().len(), 1);
        assert!(!new.exists());
    }

    #[test]
    fn an_existing_file_is_no_next_part() {
        let place = Place::new();
        place.keep(None);
        for part in [2, 3] {
            fs::write(place.directory.path().join(format!("a.{part}.fxt")), "").unwrap();
        }
        let (file, session) = place.only();
        note_end(file.path()).unwrap();
        assert_eq!(place.keep(Some((file, session))).1, Output::Beneath("a.4.fxt".to_owned()));
        let in_folder = name_of_part(&Output::Beneath("b/c.d/a".to_owned()), 2);
        assert_eq!(in_folder, Output::Beneath("b/c.d/a.2".to_owned()));
    }

    #[test]
    fn a_guard_that_has_noted_nothing_leaves_the_start_and_another_boot_its_own() {
        let place = Place::new();
        place.keep(None);
        let (file, session) = place.only();
        assert_eq!(file.interrupted_at(&session), session.started);
        let earlier = KeptSession { boot: "another".to_owned(), ..session };
        assert_eq!(file.interrupted_at(&earlier), Duration::ZERO);
    }

    /// Returns the rest of a duration whose begin is noted if it has one.
    fn rest_of(duration: Duration, began: Option<Duration>, boot: String) -> Option<Duration> {
        let place = Place::new();
        place.keep(None);
        let (file, session) = place.only();
        began.iter().for_each(|at| file.note(&KeptItem::Began(*at)));
        let config = TraceConfig { duration, ..config() };
        file.rest_of(&KeptSession { config, boot, ..session })
    }

    #[test]
    fn a_duration_goes_on() {
        let hour = Duration::from_secs(3600);
        assert_eq!(rest_of(Duration::ZERO, Some(Duration::ZERO), boot()), Some(Duration::ZERO));
        let rest = rest_of(hour, Some(since_boot()), boot()).unwrap();
        assert!(rest <= hour && !rest.is_zero());
        assert_eq!(rest_of(Duration::from_nanos(1), Some(Duration::ZERO), boot()), None);
        let another = "another".to_owned();
        assert_eq!(rest_of(hour, Some(Duration::ZERO), another), Some(hour));
    }

    /// The session waits for its programs. It can have existed for longer than its duration.
    #[test]
    fn a_duration_that_has_not_begun_is_whole() {
        let short = Duration::from_nanos(1);
        assert_eq!(rest_of(short, None, boot()), Some(short));
    }

    #[test]
    fn each_part_notes_the_begin_of_its_own_duration() {
        let place = Place::new();
        place.keep(None);
        let (file, session) = place.only();
        let before = since_boot();
        file.note_begin();
        let began = file.began_at().unwrap();
        assert!(before <= began && began <= since_boot());
        note_end(file.path()).unwrap();
        place.keep(Some((file, session)));
        assert_eq!(place.only().0.began_at(), None);
    }

    #[test]
    fn a_directory_that_was_replaced_is_not_used() {
        let place = Place::new();
        place.keep(None);
        let (_, session) = place.only();
        assert!(open_directory(&session).is_ok());
        let other = tempfile::tempdir().unwrap();
        let link = other.path().join("link");
        symlink(other.path(), &link).unwrap();
        for directory in [other.path(), &link] {
            let directory = directory.to_str().unwrap().to_owned();
            let error = open_directory(&KeptSession { directory, ..session.clone() }).unwrap_err();
            assert!(error.to_string().ends_with("is another directory now"), "{error}");
        }
    }

    #[test]
    fn a_folder_that_others_can_write_or_a_link_is_not_used() {
        let place = Place::new();
        place.keep(None);
        let session = place.only().1;
        let path = place.directory.path().join("sessions");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(place.folder.write(session.clone()).is_err() && place.folder.read().is_empty());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        let link = place.directory.path().join("link");
        symlink(&path, &link).unwrap();
        let linked = KeptFolder::new(link);
        assert!(linked.write(session).is_err() && linked.read().is_empty());
    }
}
