//! `trace record --attach`: a session of the daemon, for programs that run already.

use std::path::Path;
use std::process;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use anyhow::{anyhow, Error, Result};
use trace_convert::visible;
use trace_manager::controller::{
    Controller, ControllerError, ProviderFilter, ProviderInfo, SessionEvent, SessionState,
};
use trace_manager::Notice;

use super::alert::{self, PAUSED, RESUMED};
use super::child::{self, Child, SNAPSHOT};
use super::commands::Commands;
use super::{code, conditions, note, Event, TICK};
use crate::args::Attach;
use crate::cli::{ClientArgs, RecordArgs, RecordFormat, StartArgs};
use crate::commands::{start, stop};
use crate::daemon_client::connect;
use crate::exit;
use crate::message::HINT;
use crate::near::nearest;
use crate::sessions::place;

/// The most programs that a message lists.
const LISTED: usize = 10;

/// Records programs that are registered with the daemon, until a signal or the end of the session.
pub(super) fn run(args: &RecordArgs, attach: &Attach) -> Result<u8> {
    conditions::check(args)?;
    // The output may be wrong, which needs no daemon to be noticed.
    let mut request = start::request(&start_args(args), Path::new(""))?;
    let mut controller = connect(args.socket.as_deref())?;
    let only = select(attach, &controller.providers()?)?;
    // The session ends with this connection.
    request.limit(only, false);
    // This precedes the session, so that no signal ends this process in between.
    let (sender, events) = mpsc::channel();
    child::watch_signals(sender)?.watch_ignored();
    let commands = Commands::start(args)?;
    // Watched first: snapshots may be taken before all programs have replied to the start.
    let name = start::initialize(&mut controller, &request)?;
    controller.watch(&name)?;
    controller.start(&name)?;
    note(args, &format!("recording {}; Ctrl-C stops", visible(&attach.to_string())));
    let ended = wait(args, &mut controller, &commands, &name, &events);
    let results = ended.and_then(|()| Ok(controller.stop(&name)?));
    let results = results.map_err(|error| match request.file() {
        Some(path) => with_place(error, path),
        None => error,
    })?;
    // Snapshots that were taken meanwhile. They precede the results; the daemon may have ended.
    while let Ok(Some(event)) = controller.next_event(Duration::ZERO) {
        on_snapshot(args, &commands, event);
    }
    let output = results.output.clone();
    let (summary, kernel) = stop::report(results, args.json, args.quiet)?;
    let ended = commands.end(args, &summary, Path::new(&output), &mut Child::none(), &events);
    Ok(code(args, &summary, kernel, ended.unwrap_or(exit::OK)))
}

/// Adds where the records are of a session whose daemon is gone.
fn with_place(error: Error, output: &Path) -> Error {
    use ControllerError::{Closed, Io};
    match error.downcast_ref() {
        Some(Closed(_) | Io(_)) => anyhow!("{error}{HINT}{}", place(output)),
        _ => error,
    }
}

/// Reports a snapshot, and runs the commands of its triggers.
fn on_snapshot(args: &RecordArgs, commands: &Commands, event: SessionEvent) {
    if let SessionEvent::Snapshot { path, causes, result, .. } = event {
        // Only a command of this process can stop the recorded one, which there is not.
        let _action = alert::report(args, commands, &Notice::Snapshot { path, causes, result });
    }
}

/// Returns the options of the session. The commands of triggers are run by this process.
fn start_args(args: &RecordArgs) -> StartArgs {
    let mut session = args.session.clone();
    session.triggers.iter_mut().for_each(|rule| rule.actions.run = None);
    StartArgs {
        name: Some(format!("record-{}", process::id())),
        session,
        format: RecordFormat::Fxt,
        sched: false,
        defer_transfer: false,
        keep_alive: false,
        json: false,
        client: ClientArgs { socket: args.socket.clone() },
    }
}

/// Returns the providers to record. Fails if none of them is registered.
pub(crate) fn select(attach: &Attach, providers: &[ProviderInfo]) -> Result<ProviderFilter> {
    let mut filter = ProviderFilter::default();
    match attach {
        Attach::All => return Ok(filter),
        Attach::Process(pid) => {
            let of_process = providers.iter().filter(|provider| provider.pid == *pid);
            filter.ids = of_process.map(|provider| provider.id).collect();
        }
        Attach::Name(name) => {
            let is_there = providers.iter().any(|provider| provider.name == *name);
            filter.names.extend(is_there.then(|| name.clone()));
        }
    }
    match filter == ProviderFilter::default() {
        true => Err(unknown(attach, providers)),
        false => Ok(filter),
    }
}

/// Returns the error for a program that is not registered, with those that are.
fn unknown(attach: &Attach, providers: &[ProviderInfo]) -> anyhow::Error {
    let attach = attach.to_string();
    let attach = visible(&attach);
    if providers.is_empty() {
        return anyhow!(
            "cannot attach to {attach}: no program is registered with the daemon{HINT}programs \
             register when they start; see trace doctor"
        );
    }
    let text = |provider: &ProviderInfo| format!("{} ({})", visible(&provider.name), provider.pid);
    let key = |provider: &&ProviderInfo| match attach.parse::<u32>() {
        Ok(_) => provider.pid.to_string(),
        Err(_) => provider.name.clone(),
    };
    let near = nearest(&attach, providers.iter().collect(), key);
    let mut listed: Vec<String> = near.iter().take(LISTED).map(|provider| text(provider)).collect();
    if near.len() > LISTED {
        listed.push("…".to_owned());
    }
    anyhow!(
        "cannot attach to {attach}: no such program is registered with the daemon{HINT}programs \
         are {}",
        listed.join(", ")
    )
}

/// Waits until recording is to end.
fn wait(
    args: &RecordArgs,
    controller: &mut Controller,
    commands: &Commands,
    name: &str,
    events: &Receiver<Event>,
) -> Result<()> {
    let mut is_paused = false;
    loop {
        match controller.next_event(TICK)? {
            Some(SessionEvent::State { state, .. }) => {
                match state {
                    SessionState::Stopping
                    | SessionState::Stopped
                    | SessionState::Terminating
                    | SessionState::Terminated => return Ok(()),
                    SessionState::Paused => note(args, PAUSED),
                    SessionState::Started if is_paused => note(args, RESUMED),
                    _ => {}
                }
                if state != SessionState::Starting {
                    is_paused = state == SessionState::Paused;
                }
            }
            Some(event) => on_snapshot(args, commands, event),
            None => {}
        }
        for event in events.try_iter() {
            match event {
                Event::Signal(SNAPSHOT) => {
                    crate::say(&format!("no snapshot: use trace snapshot {name}"));
                }
                _ => return Ok(()),
            }
        }
        if args.wait && is_idle(controller, name)? {
            return Ok(());
        }
    }
}

/// Returns whether all recorded programs have ended.
fn is_idle(controller: &mut Controller, name: &str) -> Result<bool> {
    let sessions = controller.sessions()?;
    let session = sessions.iter().find(|session| session.name == name);
    Ok(session.is_some_and(|session| session.joined > 0 && session.providers == 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(id: u32, pid: u32, name: &str) -> ProviderInfo {
        ProviderInfo { id, pid, name: name.to_owned(), ..ProviderInfo::default() }
    }

    #[test]
    fn providers_are_selected_by_process_and_by_name() {
        let providers = [provider(1, 10, "server"), provider(2, 10, "gpu"), provider(3, 11, "web")];
        let filter = |attach| select(&attach, &providers).unwrap();
        assert_eq!(filter(Attach::All), ProviderFilter::default());
        assert_eq!(filter(Attach::Process(10)).ids, [1, 2]);
        assert_eq!(filter(Attach::Name("web".to_owned())).names, ["web"]);
        assert_eq!(select(&Attach::All, &[]).unwrap(), ProviderFilter::default());
    }

    #[test]
    fn an_unknown_program_is_refused_with_the_nearest_names() {
        let providers = [provider(1, 10, "database"), provider(2, 11, "server")];
        let error = |attach, providers: &[_]| select(&attach, providers).unwrap_err().to_string();
        assert_eq!(
            error(Attach::Name("sever".to_owned()), &providers),
            "cannot attach to sever: no such program is registered with the daemon\n\
             hint: programs are server (11), database (10)"
        );
        let of_process = error(Attach::Process(10_000), &providers);
        assert!(of_process.contains("attach to 10000: no such program"), "{of_process}");
        let none = error(Attach::Process(1), &[]);
        assert!(none.contains("no program is registered"), "{none}");
        let many: Vec<_> = (0..20).map(|id| provider(id, id, "a")).collect();
        let many = error(Attach::Name("b".to_owned()), &many);
        assert_eq!(many.matches("a (").count(), LISTED, "{many}");
    }
}
