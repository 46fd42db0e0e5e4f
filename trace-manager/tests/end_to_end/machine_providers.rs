//! Providers with and without the right to write about other processes.

use std::process::{Child, Command};

use super::provider::{Provider, CATEGORY};
use super::*;

use trace_format::encode::append;
use trace_format::layout::ObjectType;
use trace_format::record::{Arguments, KernelObject, Record};
use trace_format::Reader;

/// A process that does not belong to the test.
const OTHER: u64 = 3_999_999;

/// Returns whether this process runs as root.
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Connects, writes a name of another process, and disconnects.
fn name_another_process(path: &std::path::Path) {
    let (mut provider, _) = Provider::register(path, CATEGORY);
    let mut tracing = provider.enter();
    let object = KernelObject {
        object_type: ObjectType::PROCESS,
        koid: OTHER,
        name: "another".into(),
        arguments: Arguments::NONE,
    };
    let mut words = Vec::new();
    append(&mut words, &Record::from(object)).unwrap();
    tracing.durable(&words);
}

/// Returns whether the session's archive names the other process.
fn is_named(stage: &Stage) -> bool {
    let bytes = std::fs::read(stage.archive()).unwrap();
    let mut reader = Reader::new(&bytes[..]);
    let mut named = false;
    while let Some(item) = reader.next().unwrap() {
        named |= matches!(&item.record, Record::KernelObject(object) if object.koid == OTHER);
    }
    named
}

#[test]
fn an_application_does_not_name_other_processes() {
    let stage = Stage::new();
    let session = stage.start(config(BufferingMode::Oneshot));
    name_another_process(stage.manager.path());
    let summary = end(&session);
    let foreign = trace_protocol::buffer::consumer::Rejection::Foreign;
    assert_eq!(summary.providers[0].rejected, [(foreign, 1)]);
    assert!(!is_named(&stage));
}

/// The program allows its own process, which has the right only if it runs as root.
#[test]
fn an_allowed_process_must_run_as_root() {
    let stage = Stage::new();
    stage.manager.allow_machine_provider(std::process::id()).unwrap();
    let session = stage.start(config(BufferingMode::Oneshot));
    name_another_process(stage.manager.path());
    let summary = end(&session);
    assert_eq!(summary.providers[0].rejected.is_empty(), is_root());
    assert_eq!(is_named(&stage), is_root());
}

/// This program, as a provider.
fn this_program() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "machine_providers::provider_process", "--ignored"]);
    command.stdout(std::process::Stdio::null());
    command
}

#[test]
#[ignore = "started by the other tests"]
fn provider_process() {
    let path = std::env::var_os("TRACE_SOCKET").unwrap();
    name_another_process(std::path::Path::new(&path));
}

fn wait(mut child: Child) {
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_spawned_process_has_the_right() {
    let stage = Stage::new();
    let session = stage.start(config(BufferingMode::Oneshot));
    wait(stage.manager.spawn_machine_provider(&mut this_program()).unwrap());
    let summary = end(&session);
    assert_eq!(summary.providers[0].rejected, []);
    assert!(is_named(&stage));
}

/// A process that another program started does not get the right if it does not run as root. If the
/// test does not run as root, the test above is the same.
#[test]
fn an_allowed_process_of_another_user_does_not_have_the_right() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    if !is_root() {
        return;
    }
    let stage = Stage::new();
    for (path, mode) in [(stage.directory.path(), 0o755), (stage.manager.path(), 0o777)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    // The user `nobody` may be unable to read the directory of this program.
    let program = stage.directory.path().join("program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut command = Command::new("sh");
    command
        .args(["-c", "read go; exec \"$@\"", "sh"])
        .arg(&program)
        .args(this_program().get_args());
    command.current_dir("/").uid(65534).gid(65534).env("TRACE_SOCKET", stage.manager.path());
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let session = stage.start(config(BufferingMode::Oneshot));
    stage.manager.allow_machine_provider(child.id()).unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"\n").unwrap();
    wait(child);
    let summary = end(&session);
    assert_eq!((summary.providers[0].uid, is_named(&stage)), (65534, false));
}
