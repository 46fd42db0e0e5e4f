//! `trace daemon --background`

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use trace_manager::controller::{control_socket_path, Controller};

use super::logger::{self, LOG};
use super::places;
use crate::cli::DaemonArgs;
use crate::message::{self, say, HINT};
use crate::{configuration, exit};

/// How often the socket is tried.
const INTERVAL: Duration = Duration::from_millis(10);

/// How long the sessions of the configuration are waited for. A pipe may have no reader.
const PATIENCE: Duration = Duration::from_secs(5);

/// Starts the daemon as a process of its own, and returns when its socket answers and the sessions
/// of its configuration have started. Names those that do not run.
pub(super) fn start(args: &DaemonArgs) -> Result<u8> {
    let socket = places::registration_path(args.socket.as_deref())?;
    let path = args.dir.join(LOG);
    let cannot_write = || format!("cannot write {}", path.display());
    let log = logger::open(&path).with_context(cannot_write)?;
    let begin = log.metadata().with_context(cannot_write)?.len();
    let mut daemon = Command::new("/proc/self/exe")
        .arg0("trace")
        .arg("daemon")
        .args(arguments(args))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .context("cannot start the daemon")?;
    let mut controller = match wait(&mut daemon, &control_socket_path(&socket))? {
        Ok(controller) => controller,
        Err(status) => match reason(&path, begin) {
            Some(reason) => bail!("the daemon ended ({status}): {reason}"),
            None => {
                bail!("the daemon ended ({status}){HINT}its messages are in {}", path.display())
            }
        },
    };
    say(&format!("the daemon runs as process {}", daemon.id()));
    if args.config.is_some() {
        report_sessions(&mut controller);
    }
    Ok(exit::OK)
}

/// Waits until the sessions of the configuration have started, and names those that do not run.
fn report_sessions(controller: &mut Controller) {
    let deadline = Instant::now() + PATIENCE;
    controller.set_timeout(Some(PATIENCE));
    // Its end is reported by other commands.
    while let Ok(info) = controller.configuration() {
        if info.is_complete {
            let sessions = controller.sessions().unwrap_or_default();
            configuration::lines(&info, &sessions).iter().for_each(|line| say(line));
            return;
        }
        if Instant::now() > deadline {
            return say("some sessions of its configuration do not record yet: see trace status");
        }
        thread::sleep(INTERVAL);
    }
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

/// Returns the last message behind the first `begin` bytes of a log, with its hint.
fn reason(log: &Path, begin: u64) -> Option<String> {
    let mut file = File::open(log).ok()?;
    file.seek(SeekFrom::Start(begin)).ok()?;
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    let begins_line =
        |at: usize| text.get(..at).is_some_and(|it| it.is_empty() || it.ends_with('\n'));
    let (at, prefix) = text.rmatch_indices(message::PREFIX).find(|(at, _)| begins_line(*at))?;
    Some(text.get(at + prefix.len()..)?.trim_end().to_owned())
}

/// Waits until this daemon answers, or ends. Returns its status if it has ended.
fn wait(daemon: &mut Child, control: &Path) -> Result<std::result::Result<Controller, ExitStatus>> {
    loop {
        if let Some(status) = daemon.try_wait().context("cannot wait for the daemon")? {
            return Ok(Err(status));
        }
        // Another daemon may use the socket. This one ends then.
        let pid = daemon.id();
        let answers = |it: &mut Controller| it.daemon_pid() == pid && it.groups().is_ok();
        let controller = Controller::connect(control).ok();
        let answering = controller.and_then(|mut it| answers(&mut it).then_some(it));
        if let Some(controller) = answering {
            return Ok(Ok(controller));
        }
        thread::sleep(INTERVAL);
    }
}
