//! Files planted by other users, and the permissions of a replaced file.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{chown, symlink, MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Barrier;

use tempfile::TempDir;

use super::*;
use crate::sys::files as sys;

/// A user other than that of the test.
const OTHER: u32 = 65534;

fn is_root() -> bool {
    let is_root = sys::user() == 0;
    if !is_root {
        eprintln!("skipped in part: only root can create files of another user");
    }
    is_root
}

/// A directory that everybody can write, without the sticky bit.
fn shared() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).unwrap();
    directory
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn place(path: &Path) -> Place {
    Place::find(path).unwrap()
}

fn write(file: NewFile, content: &str) {
    (&**file.file()).write_all(content.as_bytes()).unwrap();
    file.complete().unwrap();
}

#[test]
fn an_earlier_file_is_kept_as_old() {
    let shared = shared();
    let path = |name: &str| shared.path().join(name);
    for (content, old) in [("first", None), ("second", Some("first")), ("third", Some("second"))] {
        let file = NewFile::findable(place(&path("out"))).unwrap();
        (&**file.file()).write_all(content.as_bytes()).unwrap();
        file.complete_with_backup().unwrap();
        assert_eq!(fs::read_to_string(path("out")).unwrap(), content);
        assert_eq!(fs::read_to_string(path("out.old")).ok().as_deref(), old);
    }
    fs::write(path("out"), "").unwrap();
    NewFile::unnamed(place(&path("out"))).unwrap().complete_with_backup().unwrap();
    assert_eq!(fs::read_to_string(path("out.old")).unwrap(), "second", "an empty file is not kept");
}

#[test]
fn an_earlier_file_is_kept_beside_a_directory_of_its_name() {
    let shared = shared();
    let path = |name: &str| shared.path().join(name);
    fs::create_dir(path("out.old")).unwrap();
    fs::write(path("out"), "first").unwrap();
    NewFile::findable(place(&path("out"))).unwrap().complete_with_backup().unwrap();
    let names = fs::read_dir(shared.path()).unwrap().map(|entry| entry.unwrap().path());
    let kept = names.filter(|path| fs::read_to_string(path).is_ok_and(|text| text == "first"));
    let kept: Vec<_> = kept.collect();
    let [kept] = kept.as_slice() else { panic!("one file: {kept:?}") };
    assert!(kept.to_str().unwrap().starts_with(path("out.old.").to_str().unwrap()), "{kept:?}");
}

#[test]
fn files_that_are_completed_together_are_all_kept() {
    let shared = shared();
    let path = |name: &str| shared.path().join(name);
    for create in [NewFile::findable, NewFile::unnamed] {
        for _ in 0..200 {
            let start = Barrier::new(2);
            std::thread::scope(|scope| {
                for content in ["one", "two"] {
                    let file = create(place(&path("out"))).unwrap();
                    (&**file.file()).write_all(content.as_bytes()).unwrap();
                    let start = &start;
                    scope.spawn(move || {
                        start.wait();
                        file.complete_with_backup().unwrap();
                    });
                }
            });
            let mut kept = ["out", "out.old"].map(|name| fs::read_to_string(path(name)).unwrap());
            kept.sort();
            assert_eq!(kept, ["one", "two"]);
            assert_eq!(fs::read_dir(shared.path()).unwrap().count(), 2);
            fs::remove_file(path("out")).unwrap();
            fs::remove_file(path("out.old")).unwrap();
        }
    }
}

#[test]
fn an_earlier_file_has_its_name_again_if_it_is_not_replaced() {
    let shared = shared();
    let path = |name: &str| shared.path().join(name);
    fs::write(path("out"), "first").unwrap();
    let file = NewFile::findable(place(&path("out"))).unwrap();
    let error = file.complete_by(|_| match path("out").exists() {
        true => Err(ErrorKind::AlreadyExists.into()),
        false => Err(ErrorKind::StorageFull.into()),
    });
    assert_eq!(error.unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(fs::read_to_string(path("out")).unwrap(), "first");
    assert!(!path("out.old").exists());
}

#[test]
fn a_directory_is_neither_content_nor_renamed() {
    let shared = shared();
    let path = |name: &str| shared.path().join(name);
    let file = NewFile::findable(place(&path("out"))).unwrap();
    fs::create_dir(path("out")).unwrap();
    assert!(!file.place().has_content());
    assert_eq!(file.complete_with_backup().unwrap_err().kind(), ErrorKind::IsADirectory);
    assert!(path("out").is_dir() && !path("out.old").exists());
}

#[test]
fn paths_resolve_to_files_nodes_and_errors() {
    let shared = shared();
    let path = |name: &str| shared.path().join(name);
    fifo(&path("fifo"));
    let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
    symlink("regular", path("link")).unwrap();
    symlink("nothing", path("dangling")).unwrap();
    symlink("/dev/null", path("null")).unwrap();
    symlink("loop", path("loop")).unwrap();
    fs::write(path("regular"), "old").unwrap();
    for (name, leads_to) in
        [("regular", "regular"), ("link", "regular"), ("dangling", "nothing"), ("new", "new")]
    {
        assert_eq!(place(&path(name)).path(), shared.path().canonicalize().unwrap().join(leads_to));
    }
    for node in [path("fifo"), path("null"), "/dev/null".into()] {
        assert!(matches!(Target::find(&node), Ok(Target::Node(_))), "{node:?}");
        assert_eq!(Place::find(&node).unwrap_err().kind(), ErrorKind::AlreadyExists);
    }
    for (wrong, reason) in [
        (path("socket"), "is a socket"),
        (path("."), "is a directory"),
        (path("missing/file"), "missing' does not exist"),
        (path("loop"), "Too many levels"),
    ] {
        let error = Target::find(&wrong).unwrap_err().to_string();
        assert!(error.contains(reason), "{wrong:?}: {error}");
    }
}

#[test]
fn an_open_pipe_without_a_path_is_written_directly() {
    let mut reader = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let writer = reader.stdin.take().unwrap();
    let writer = fs::File::from(std::os::fd::OwnedFd::from(writer));
    let target = Target::find(Path::new(&sys::descriptor_path(&writer)));
    assert!(matches!(target, Ok(Target::Node(_))), "{target:?}");
    drop((writer, target));
    assert!(reader.wait().unwrap().success());
}

#[test]
fn a_fifo_without_reader_is_an_error_without_waiting() {
    let shared = shared();
    let path = shared.path().join("fifo");
    fifo(&path);
    let Target::Node(node) = Target::find(&path).unwrap() else { panic!("a FIFO is a node") };
    assert_eq!(node.open_nonblocking().unwrap_err().kind(), ErrorKind::NotConnected);
    let reader = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let _first = node.open_nonblocking().unwrap();
    assert_eq!(node.open_nonblocking().unwrap_err().kind(), ErrorKind::WouldBlock);
    drop(reader);
}

#[test]
fn only_regular_files_are_opened_for_reading() {
    let shared = shared();
    let path = |name: &str| shared.path().join(name);
    fs::write(path("file"), "content").unwrap();
    symlink("file", path("link")).unwrap();
    fs::create_dir(path("folder")).unwrap();
    fifo(&path("fifo"));
    let directory = Directory::open(shared.path()).unwrap();
    let open = |name: &str| directory.open_regular(OsStr::new(name));
    assert_eq!(std::io::read_to_string(open("file").unwrap()).unwrap(), "content");
    for name in ["link", "folder", "fifo", "missing"] {
        assert!(open(name).is_err(), "{name}");
    }
}

#[test]
fn links_and_fifos_of_other_users_are_refused_in_world_writable_directories() {
    if !is_root() {
        return;
    }
    let shared = shared();
    let path = |name: &str| shared.path().join(name);
    fs::write(path("precious"), "precious").unwrap();
    symlink("precious", path("link")).unwrap();
    fifo(&path("fifo"));
    for name in ["link", "fifo"] {
        assert!(Target::find(&path(name)).is_ok(), "{name}");
        std::os::unix::fs::lchown(path(name), Some(OTHER), None).unwrap();
        let error = Target::find(&path(name)).unwrap_err().to_string();
        assert!(error.contains("of another user (uid 65534)"), "{error}");
    }
    // Where only the owner and the group can write, somebody trusted has created it.
    fs::set_permissions(shared.path(), Permissions::from_mode(0o775)).unwrap();
    assert!(Target::find(&path("link")).is_ok());
    fs::set_permissions(shared.path(), Permissions::from_mode(0o777)).unwrap();
    // In a directory of that user it is not refused.
    chown(shared.path(), Some(OTHER), None).unwrap();
    assert!(Target::find(&path("link")).is_ok());
}

#[test]
fn links_in_the_directory_part_of_a_path_are_followed() {
    let shared = shared();
    let path = |name: &str| shared.path().join(name);
    fs::create_dir_all(path("real/inner")).unwrap();
    symlink("real", path("relative")).unwrap();
    symlink(path("real"), path("absolute")).unwrap();
    symlink("relative/inner/../inner/out", path("file")).unwrap();
    symlink("round", path("round")).unwrap();
    let expected = shared.path().canonicalize().unwrap().join("real/inner/out");
    for name in [
        "real/inner/out",
        "relative/inner/out",
        "absolute/./inner/out",
        "real/../relative/inner/out",
        "file",
    ] {
        assert_eq!(place(&path(name)).path(), expected, "{name}");
    }
    let of_process = format!("/proc/self/root{}", expected.display());
    assert_eq!(place(of_process.as_ref()).path(), expected);
    for (wrong, reason) in [
        ("round/out", "Too many levels"),
        ("relative/..", "is a directory"),
        ("real/missing/out", "missing' does not exist"),
    ] {
        let error = Target::find(&path(wrong)).unwrap_err().to_string();
        assert!(error.contains(reason), "{wrong}: {error}");
    }
}

/// A link in the place of a directory of the path, directly and behind a link of this user.
#[test]
fn links_of_other_users_to_directories_are_refused_in_world_writable_directories() {
    if !is_root() {
        return;
    }
    for mode in [0o777, 0o1777] {
        let shared = shared();
        fs::set_permissions(shared.path(), Permissions::from_mode(mode)).unwrap();
        let path = |name: &str| shared.path().join(name);
        fs::create_dir(path("precious")).unwrap();
        symlink("precious", path("planted")).unwrap();
        symlink("planted/out", path("own")).unwrap();
        for name in ["planted/out", "own"] {
            assert!(Target::find(&path(name)).is_ok(), "{name}");
        }
        std::os::unix::fs::lchown(path("planted"), Some(OTHER), None).unwrap();
        for name in ["planted/out", "own", "planted/../out"] {
            let error = Target::find(&path(name)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{name}");
            assert!(error.to_string().contains("of another user (uid 65534)"), "{error}");
        }
    }
}

/// Another user replaces the link while it is resolved. Its target is never written.
#[test]
fn a_link_of_another_user_is_refused_even_if_it_comes_and_goes() {
    if !is_root() {
        return;
    }
    let shared = shared();
    let path = |name: &str| shared.path().join(name);
    fs::write(path("precious"), "precious").unwrap();
    let (link, out) = (path("link"), path("out"));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                symlink("precious", &link).unwrap();
                std::os::unix::fs::lchown(&link, Some(OTHER), None).unwrap();
                fs::rename(&link, &out).unwrap();
                fs::remove_file(&out).unwrap();
            }
        });
        for _ in 0..5000 {
            match Target::find(&out) {
                Ok(Target::File(place)) => assert_eq!(place.name(), "out"),
                Ok(Target::Node(node)) => {
                    done.store(true, Ordering::Relaxed);
                    panic!("{node:?} would be written to");
                }
                Err(_) => {}
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn names_that_are_taken_are_not_touched() {
    let shared = shared();
    let path = |name: &str| shared.path().join(name);
    let partial = path(".out.partial");
    fs::write(path("precious"), "precious").unwrap();
    let plant: [&dyn Fn(); 6] = [
        &|| symlink("precious", &partial).unwrap(),
        &|| symlink("nothing", &partial).unwrap(),
        &|| fifo(&partial),
        &|| fs::create_dir(&partial).unwrap(),
        &|| fs::hard_link(path("precious"), &partial).unwrap(),
        &|| {
            fs::write(&partial, "").unwrap();
            fs::set_permissions(&partial, Permissions::from_mode(0o666)).unwrap();
        },
    ];
    for plant in plant {
        plant();
        let file = NewFile::findable(place(&path("out"))).unwrap();
        let name = file.partial().unwrap().to_owned();
        assert!(name != ".out.partial" && file.is_there(), "{name:?}");
        assert_eq!(mode(&path(name.to_str().unwrap())), 0o600);
        write(file, "archive");
        assert_eq!(fs::read_to_string(path("precious")).unwrap(), "precious");
        assert_eq!(fs::read_to_string(path("out")).unwrap(), "archive");
        assert!(!path("nothing").exists() && !path(name.to_str().unwrap()).exists());
        fs::remove_file(&partial).or_else(|_| fs::remove_dir(&partial)).unwrap();
        fs::remove_file(path("out")).unwrap();
    }
}

#[test]
fn a_file_of_another_user_is_left_alone() {
    if !is_root() {
        return;
    }
    let shared = shared();
    let partial = shared.path().join(".out.partial");
    fs::write(&partial, "another's").unwrap();
    chown(&partial, Some(OTHER), None).unwrap();
    write(NewFile::findable(place(&shared.path().join("out"))).unwrap(), "archive");
    assert_eq!(fs::metadata(shared.path().join("out")).unwrap().uid(), 0);
    assert_eq!(fs::read_to_string(&partial).unwrap(), "another's");
    let directory = Directory::open(shared.path()).unwrap();
    let error = directory.open_own(OsStr::new(".out.partial")).unwrap_err();
    assert_eq!(error.to_string(), "belongs to another user (uid 65534)");
}

#[test]
fn many_locked_names_do_not_exhaust_names() {
    let shared = shared();
    let out = shared.path().join("out");
    let locked: Vec<_> = (0..100).map(|_| NewFile::findable(place(&out)).unwrap()).collect();
    write(NewFile::findable(place(&out)).unwrap(), "archive");
    assert!(locked.iter().all(NewFile::is_there));
}

#[test]
fn the_file_of_a_killed_process_is_replaced() {
    let shared = shared();
    let out = shared.path().join("out");
    let mut left = NewFile::findable(place(&out)).unwrap();
    left.keep();
    (&**left.file()).write_all(b"left behind").unwrap();
    drop(left);
    let partial = shared.path().join(".out.partial");
    assert_eq!(fs::read_to_string(&partial).unwrap(), "left behind");
    let file = NewFile::findable(place(&out)).unwrap();
    assert_eq!(file.partial(), Some(OsStr::new(".out.partial")));
    assert_eq!(fs::read_to_string(&partial).unwrap(), "");
    file.discard();
    assert!(!partial.exists());
}

#[test]
fn a_file_that_was_exchanged_does_not_get_the_name() {
    let shared = shared();
    let file = NewFile::findable(place(&shared.path().join("out"))).unwrap();
    let partial = shared.path().join(".out.partial");
    fs::remove_file(&partial).unwrap();
    fs::write(&partial, "another's").unwrap();
    assert_eq!(file.complete().unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(fs::read_to_string(&partial).unwrap(), "another's");
}

#[test]
fn a_directory_that_is_exchanged_does_not_matter() {
    let shared = shared();
    let (here, there) = (shared.path().join("here"), shared.path().join("there"));
    fs::create_dir(&here).unwrap();
    for create in [NewFile::findable, NewFile::unnamed] {
        let file = create(place(&here.join("out"))).unwrap();
        fs::rename(&here, &there).unwrap();
        fs::create_dir(&here).unwrap();
        write(file, "archive");
        assert!(there.join("out").exists() && fs::read_dir(&here).unwrap().next().is_none());
        fs::remove_dir_all(&there).unwrap();
    }
}

#[test]
fn permissions_are_those_of_the_file_that_is_replaced() {
    let shared = shared();
    let out = shared.path().join("out");
    for mode_before in [0o600, 0o640, 0o644, 0o400] {
        fs::write(&out, "old").unwrap();
        fs::set_permissions(&out, Permissions::from_mode(0o4000 | mode_before)).unwrap();
        for create in [NewFile::findable, NewFile::unnamed] {
            write(create(place(&out)).unwrap(), "new");
            assert_eq!(mode(&out), mode_before);
        }
        fs::remove_file(&out).unwrap();
    }
    if is_root() {
        // The other user could set any permissions.
        fs::write(&out, "old").unwrap();
        fs::set_permissions(&out, Permissions::from_mode(0o666)).unwrap();
        chown(&out, Some(OTHER), None).unwrap();
        write(NewFile::findable(place(&out)).unwrap(), "new");
        assert_eq!(mode(&out) & 0o022, 0, "nobody else can write it");
    }
}

#[test]
fn files_with_and_without_a_name_replace_the_old_file() {
    let shared = shared();
    let out = shared.path().join("out");
    for create in [NewFile::unnamed, NewFile::hidden] {
        for content in ["first", "second", "third"] {
            write(create(place(&out)).unwrap(), content);
            assert_eq!(fs::read_to_string(&out).unwrap(), content);
        }
        drop(create(place(&out)).unwrap());
    }
    assert_eq!(fs::read_dir(shared.path()).unwrap().count(), 1);
}

#[test]
fn a_place_keeps_its_directory_and_permissions_under_another_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("old");
    fs::write(&path, b"").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    let place = Place::find(&path).unwrap().with_name("new".into());
    assert_eq!(place.name(), OsStr::new("new"));
    assert_eq!(place.path(), Place::find(&path).unwrap().path().with_file_name("new"));
    assert_eq!(place.mode() & 0o777, 0o640);
}

#[test]
fn a_place_beneath_a_directory_is_never_behind_a_link() {
    let shared = tempfile::tempdir().unwrap();
    let beneath = |name: &str| Place::beneath(Directory::open(shared.path()).unwrap(), name.into());
    fs::write(shared.path().join("old"), "old").unwrap();
    fs::set_permissions(shared.path().join("old"), Permissions::from_mode(0o640)).unwrap();
    symlink("/etc/passwd", shared.path().join("link")).unwrap();
    fs::create_dir(shared.path().join("folder")).unwrap();
    for name in ["link", "folder"] {
        assert_eq!(beneath(name).unwrap_err().kind(), ErrorKind::AlreadyExists, "{name}");
    }
    assert_eq!(beneath("old").unwrap().mode(), 0o640);
    write(NewFile::findable(beneath("new").unwrap()).unwrap(), "new");
    assert_eq!(fs::read_to_string(shared.path().join("new")).unwrap(), "new");
}
