//! `trace pause` and `trace resume`

use std::path::Path;

use anyhow::Result;
use rustix::process::geteuid;
use serde_json::json;
use trace_convert::visible;
use trace_manager::controller::{Controller, SessionInfo, StartRequest};

use crate::cli::{PauseArgs, ResumeArgs};
use crate::daemon_client::print_json;
use crate::exit;
use crate::sessions::{find_session, is_running, Found};

pub(crate) fn run(args: &PauseArgs) -> Result<u8> {
    let (mut controller, name) = find(args.client.socket.as_deref(), &args.session.name)?;
    controller.pause(&name)?;
    let visible = visible(&name);
    let message = format!("session {visible} is paused; continue it with trace resume {visible}");
    print(&name, args.json, &message)
}

pub(crate) fn resume(args: &ResumeArgs) -> Result<u8> {
    let (mut controller, name) = find(args.client.socket.as_deref(), &args.session.name)?;
    controller.start_with(StartRequest {
        session: name.clone(),
        disposition: args.disposition.into(),
        additional_categories: args.add.clone(),
    })?;
    print(&name, args.json, &format!("session {} records", visible(&name)))
}

fn print(name: &str, as_json: bool, message: &str) -> Result<u8> {
    match as_json {
        true => print_json(&json!({ "session": name }))?,
        false => crate::say(message),
    }
    Ok(exit::OK)
}

/// Finds a session, and its name if it is the only one.
fn find(socket: Option<&Path>, name: &str) -> Result<(Controller, String)> {
    let Found { mut controller, name } = find_session(socket, name)?;
    if !name.is_empty() {
        return Ok((controller, name));
    }
    let sessions: Vec<_> = controller.sessions()?.into_iter().filter(is_running).collect();
    // If several match, the daemon refuses the request, and names them.
    let name = only(&sessions, geteuid().as_raw()).unwrap_or_default();
    Ok((controller, name))
}

/// Returns the name of the only session. The daemon prefers those of the user, too.
fn only(sessions: &[SessionInfo], uid: u32) -> Option<String> {
    let mine = Vec::from_iter(sessions.iter().filter(|session| session.uid == uid));
    match (mine.as_slice(), sessions) {
        ([session], _) => Some(session.name.clone()),
        ([], [session]) => Some(session.name.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_session_is_preferably_one_of_the_user() {
        let session =
            |uid, name: &str| SessionInfo { uid, name: name.to_owned(), ..SessionInfo::default() };
        let of_others = [session(2, "b"), session(3, "c")];
        assert_eq!(only(&of_others[..1], 1).as_deref(), Some("b"));
        assert_eq!(only(&of_others, 1), None);
        let all = [&of_others[..], &[session(1, "a")]].concat();
        assert_eq!(only(&all, 1).as_deref(), Some("a"));
        assert_eq!(only(&[all, vec![session(1, "d")]].concat(), 1), None);
        assert_eq!(only(&[], 1), None);
    }
}
