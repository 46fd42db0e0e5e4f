//! `trace daemon --background`

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{bail, Context, Result};
use trace_manager::controller::{control_socket_path, Controller};

use super::logger::{self, LOG};
use super::places;
use crate::cli::DaemonArgs;
use crate::exit;

/// How often the socket is tried.
const INTERVAL: Duration = Duration::from_millis(10);

/// Starts the daemon as a process of its own, and returns when its socket answers.
pub(super) fn start(args: &DaemonArgs) -> Result<u8> {
    let socket = places::registration_path(args.socket.as_deref())?;
    let path = args.dir.join(LOG);
    let log = logger::open(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut daemon = Command::new("/proc/self/exe")
        .arg0("trace")
        .arg("daemon")
        .args(arguments(args))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .context("cannot start the daemon")?;
    wait(&mut daemon, &control_socket_path(&socket))
        .with_context(|| format!("its messages are in {}", path.display()))?;
    crate::say(&format!("the daemon runs as process {}", daemon.id()));
    Ok(exit::OK)
}

fn arguments(args: &DaemonArgs) -> Vec<OsString> {
    let mut line: Vec<OsString> = vec!["--child".into(), "--dir".into(), args.dir.clone().into()];
    let options = [("--socket", &args.socket), ("--config", &args.config)];
    for (option, value) in options {
        if let Some(value) = value {
            line.extend([option.into(), value.clone().into()]);
        }
    }
    line
}

/// Waits until this daemon answers, or ends.
fn wait(daemon: &mut Child, control: &std::path::Path) -> Result<()> {
    loop {
        if let Some(status) = daemon.try_wait().context("cannot wait for the daemon")? {
            bail!("the daemon ended ({status})");
        }
        // Another daemon may use the socket. This one ends then.
        let pid = daemon.id();
        let answers = |mut it: Controller| it.daemon_pid() == pid && it.groups().is_ok();
        if Controller::connect(control).is_ok_and(answers) {
            return Ok(());
        }
        thread::sleep(INTERVAL);
    }
}
