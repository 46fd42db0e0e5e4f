use std::cell::Cell;
use std::os::unix::fs::{symlink, PermissionsExt};

use trace_protocol::socket::PeerCredentials;

use super::*;

fn config() -> TraceConfig {
    TraceConfig {
        name: "web".to_owned(),
        output: Output::Beneath("a.fxt".to_owned()),
        keep_alive: true,
        ..TraceConfig::default()
    }
}

fn me() -> Caller {
    let peer = PeerCredentials { pid: 1, uid: geteuid().as_raw(), gid: 0 };
    Caller { peer, all_users: false }
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
        self.folder.read().sessions.pop().unwrap()
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
    assert!(place.folder.read().sessions.is_empty());
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
    assert!(place.folder.read().sessions.is_empty());
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
            place.folder.write(KeptSession { config: config.clone(), ..session.clone() }).unwrap();
        }
    };
    std::thread::scope(|scope| {
        for number in 0..4 {
            let write = &write;
            scope.spawn(move || write(format!("s{number}")));
        }
    });
    for (file, session) in place.folder.read().sessions {
        let name = file.path().file_name().unwrap().to_string_lossy().into_owned();
        assert!(name.ends_with(&session.config.name), "{name}: {}", session.config.name);
    }
    assert_eq!(place.folder.read().sessions.len(), 5);
}

#[test]
fn a_file_that_was_not_completed_is_no_session() {
    let place = Place::new();
    place.keep(None);
    let (file, _) = place.only();
    let new = file.path().with_file_name(".new-4242");
    fs::copy(file.path(), &new).unwrap();
    assert_eq!(place.folder.read().sessions.len(), 1);
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

/// A file system of a user may have all of them.
#[test]
fn the_search_for_a_part_without_a_file_is_short() {
    let tried = Cell::new(0);
    let search = |last, taken: u64| {
        tried.set(0);
        let is_taken = |part| part <= taken;
        first_free(last, |part| {
            tried.set(tried.get() + 1);
            Ok(!is_taken(part))
        })
    };
    for (last, taken) in [(1, 0), (1, 1), (1, 2), (1, 300), (7, 1_000_000), (1, 1 << 40)] {
        assert_eq!(search(last, taken).unwrap(), last.max(taken) + 1);
        assert!(tried.get() <= 128, "{}", tried.get());
    }
    assert!(search(1, u64::MAX).is_err() && tried.get() <= 64, "{}", tried.get());
}

/// It may have the file.
#[test]
fn a_part_whose_file_cannot_be_found_is_not_free() {
    let place = Place::new();
    let output = Output::Beneath(format!("{}.fxt", "a".repeat(251)));
    let directory = File::open(place.directory.path()).unwrap().into();
    assert!(next_part(&directory, &output, 1).is_err(), "the name is too long");
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

/// The file system may work again at the next start.
#[test]
fn the_file_of_a_session_stays_after_errors_that_may_be_over_later() {
    let place = Place::new();
    place.keep(None);
    let (file, _) = place.only();
    for error in [Errno::STALE, Errno::IO, Errno::NOTCONN] {
        file.remove_after(&error.into());
        assert_eq!(place.folder.read().sessions.len(), 1, "{error}");
    }
    file.remove_after(&Errno::NOENT.into());
    assert!(place.folder.read().sessions.is_empty());
    place.keep(None);
    file.remove_after(&other("it is another directory"));
    assert!(place.folder.read().sessions.is_empty());
}

#[test]
fn a_folder_that_others_can_write_or_a_link_is_not_used() {
    let place = Place::new();
    place.keep(None);
    let session = place.only().1;
    let path = place.directory.path().join("sessions");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(
        place.folder.write(session.clone()).is_err() && place.folder.read().sessions.is_empty()
    );
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    let link = place.directory.path().join("link");
    symlink(&path, &link).unwrap();
    let linked = KeptFolder::new(link);
    assert!(linked.write(session).is_err() && linked.read().sessions.is_empty());
}

/// Else a session would not go on, and nobody would know why.
#[test]
fn a_file_that_cannot_be_read_is_reported_and_stays() {
    let place = Place::new();
    assert!(place.folder.read().failures.is_empty(), "no session has had a file");
    place.keep(None);
    let (file, _) = place.only();
    fs::write(file.path(), b"damaged").unwrap();
    let directory = file.path().with_file_name("directory");
    fs::create_dir(&directory).unwrap();
    let KeptSessions { sessions, mut failures } = place.folder.read();
    failures.sort_by_key(|(path, _)| *path != directory);
    let paths = Vec::from_iter(failures.iter().map(|(path, _)| path.as_path()));
    assert_eq!((sessions.len(), paths), (0, vec![directory.as_path(), file.path()]));
    assert_eq!(failures[1].1.to_string(), "it is damaged");
    assert!(file.path().exists());
    let path = place.directory.path().join("sessions");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(place.folder.read().failures[0].0, path);
}
