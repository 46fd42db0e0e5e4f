//! `trace status`

use std::path::Path;

use anyhow::Result;
use indicatif::{HumanBytes, HumanCount};
use serde_json::{json, Value};
use trace_convert::visible;
use trace_manager::controller::{
    end_of, Controller, ControllerError, ProviderStatistics, SessionInfo,
};
use trace_manager::End;
use trace_protocol::buffer::producer::LossReason;
use trace_protocol::control::RefusalInfo;

use crate::cli::StatusArgs;
use crate::daemon_client::print_json;
use crate::message::{counted, describe, describe_text, say};
use crate::recorders::{Recorder, PATIENCE};
use crate::sessions::{find_session, servers};
use crate::table::{human_nanos, print, Table};
use crate::{configuration, exit};

pub(crate) fn run(args: &StatusArgs) -> Result<u8> {
    let socket = args.client.socket.as_deref();
    match &args.name {
        Some(name) => {
            let mut found = find_session(socket, name)?;
            found.controller.set_timeout(Some(PATIENCE));
            show_providers(&found.controller.statistics(&found.name)?, args.json)?;
        }
        None => show_sessions(&sessions(socket)?, args.json)?,
    }
    Ok(exit::OK)
}

/// A session of the daemon, or of a recorder.
pub(crate) struct ListedSession {
    info: SessionInfo,
    /// The process of the recorder.
    recorder: Option<u32>,
}

/// Returns the sessions of the daemon and those of the recorders. Names configured ones that do not
/// run.
pub(crate) fn sessions(socket: Option<&Path>) -> Result<Vec<ListedSession>> {
    let (daemon, recorders) = servers(socket);
    let of_daemon = match daemon.and_then(sessions_of_daemon) {
        Ok(sessions) => sessions,
        Err(error) => match error.downcast_ref() {
            Some(ControllerError::Connect { .. }) if !recorders.is_empty() => Vec::new(),
            Some(ControllerError::NoAnswer { .. }) if !recorders.is_empty() => {
                say(&describe(error.as_ref()));
                Vec::new()
            }
            _ => return Err(error),
        },
    };
    let of_daemon = of_daemon.into_iter().map(|info| ListedSession { info, recorder: None });
    let of_recorder = |it: Recorder| ListedSession { info: it.session, recorder: Some(it.pid) };
    Ok(of_daemon.chain(recorders.into_iter().map(of_recorder)).collect())
}

/// Returns the sessions of the daemon. Names configured ones that do not run.
fn sessions_of_daemon(mut daemon: Controller) -> Result<Vec<SessionInfo>> {
    daemon.set_timeout(Some(PATIENCE));
    let sessions = daemon.sessions()?;
    configuration::problems(&mut daemon, &sessions).iter().for_each(|it| say(it));
    Ok(sessions)
}

/// Prints sessions.
pub(crate) fn show_sessions(sessions: &[ListedSession], as_json: bool) -> Result<()> {
    if as_json {
        return print_json(&sessions.iter().map(session_json).collect());
    }
    let heads = vec![
        "time", "programs", "events", "lost", "bytes", "recorder", "state", "name", "mode", "user",
        "output",
    ];
    let mut table = Table::new(heads, 6);
    for ListedSession { info: session, recorder } in sessions {
        table.push(vec![
            human_nanos(session.elapsed.as_nanos() as u64),
            format!("{}/{}", session.providers, session.joined),
            HumanCount(session.events).to_string(),
            HumanCount(session.lost).to_string(),
            HumanBytes(session.bytes).to_string(),
            recorder.map_or("daemon".to_owned(), |pid| pid.to_string()),
            session.state.to_string(),
            session.name.clone(),
            mode(session),
            session.uid.to_string(),
            output(session),
        ]);
    }
    match table.is_empty() {
        true => say("no sessions"),
        false => {
            let refused = sessions.iter().filter_map(|session| refused(&session.info));
            print(&(table.text() + &refused.collect::<String>()))?;
        }
    }
    Ok(())
}

/// Returns a line about the programs that a session does not record.
fn refused(session: &SessionInfo) -> Option<String> {
    let RefusalInfo { pid, name, reason } = session.last_refusal.as_ref()?;
    let refusals = counted(session.refusals, "program", "programs");
    let line = format!(
        "{}: {refusals} refused, at last {name} ({pid}): {}",
        session.name,
        describe_text(reason)
    );
    Some(visible(&line).into_owned() + "\n")
}

/// Returns the output, with its error. A session without a guard is marked.
fn output(session: &SessionInfo) -> String {
    let mut output = session.output.clone();
    if let Some(reason) = &session.failure {
        output += &format!(" (error: {})", describe_text(reason));
    }
    if let Some(reason) = &session.guard_failure {
        output += &format!(" (no guard: {})", describe_text(reason));
    }
    output
}

fn mode(session: &SessionInfo) -> String {
    format!("{:?}", session.mode).to_lowercase()
}

fn session_json(ListedSession { info: session, recorder }: &ListedSession) -> Value {
    json!({
        "recorder": recorder,
        "name": session.name,
        "uid": session.uid,
        "state": session.state.to_string(),
        "detached": session.detached,
        "mode": mode(session),
        "buffer_size": session.buffer_size,
        "categories": session.categories,
        "output": session.output,
        "seconds": session.elapsed.as_secs_f64(),
        "providers": session.providers,
        "joined": session.joined,
        "events": session.events,
        "bytes": session.bytes,
        "lost": session.lost,
        "refusals": session.refusals,
        "last_refusal": session.last_refusal.as_ref().map(|RefusalInfo { pid, name, reason }| {
            json!({ "pid": pid, "name": name, "reason": describe_text(reason) })
        }),
        "error": session.failure.as_deref().map(describe_text),
        "guard_error": session.guard_failure.as_deref().map(describe_text),
    })
}

fn show_providers(providers: &[ProviderStatistics], as_json: bool) -> Result<()> {
    if as_json {
        return print_json(&providers.iter().map(provider_json).collect());
    }
    let heads = vec!["pid", "events", "bytes", "buffers", "names", "lost", "name", "end"];
    let mut table = Table::new(heads, 6);
    for provider in providers {
        let dropped: u64 = provider.dropped.iter().map(|(_, number)| number).sum();
        table.push(vec![
            provider.pid.to_string(),
            HumanCount(provider.events).to_string(),
            HumanBytes(provider.bytes).to_string(),
            HumanCount(u64::from(provider.wrapped_count)).to_string(),
            format!("{:.0}%", durable_used(provider) * 100.0),
            HumanCount(dropped).to_string(),
            provider.name.clone(),
            end(provider).map_or("-".to_owned(), |end| end.to_string()),
        ]);
    }
    match table.is_empty() {
        true => say("no programs"),
        false => print(&table.text())?,
    }
    Ok(())
}

fn end(provider: &ProviderStatistics) -> Option<End> {
    provider.end.map(|kind| end_of(kind, provider.violation.clone()))
}

/// Returns the share of the durable buffer, which has names, that is in use.
fn durable_used(provider: &ProviderStatistics) -> f64 {
    provider.durable_used as f64 / provider.durable_size.max(1) as f64
}

fn provider_json(provider: &ProviderStatistics) -> Value {
    let reason = |reason: u8| LossReason::ALL.get(usize::from(reason)).map(|it| it.as_str());
    let dropped = provider.dropped.iter().map(|(why, number)| {
        (reason(*why).unwrap_or("unknown reason").to_owned(), Value::from(*number))
    });
    json!({
        "id": provider.id,
        "pid": provider.pid,
        "name": provider.name,
        "events": provider.events,
        "bytes": provider.bytes,
        "lost": dropped.collect::<serde_json::Map<_, _>>(),
        "wrapped_count": provider.wrapped_count,
        "durable_used": durable_used(provider),
        "buffer_size": provider.buffer_size,
        "answered_start": provider.answered_start,
        "end": end(provider).map(|end| end.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failure_of_an_archive_is_behind_its_path() {
        let mut session = SessionInfo { output: "/tmp/a.fxt".to_owned(), ..Default::default() };
        assert_eq!(output(&session), "/tmp/a.fxt");
        session.failure = Some("No space left on device (os error 28)".to_owned());
        session.guard_failure = Some("no memory".to_owned());
        let expected = "/tmp/a.fxt (error: no space left on device) (no guard: no memory)";
        assert_eq!(output(&session), expected);
        let json = session_json(&ListedSession { info: session, recorder: None });
        assert_eq!(json["error"], "no space left on device");
    }
}
