//! Starts of live streams. Opening the output of a controller may wait, so a thread does it.

use std::io;
use std::sync::Arc;
use std::thread;

use trace_protocol::control::{ControlError, GeneralError, Output, Reply};

use super::machine::{FollowJob, Ticket};
use super::output::OpenOutput;
use super::shared::{Message, Shared};
use crate::error::ManagerError;
use crate::manager::SessionHandle;

/// Starts a live stream on a thread. The reply is a message to the control thread.
pub(super) fn spawn(
    shared: &Arc<Shared>,
    handle: Arc<SessionHandle>,
    ticket: Ticket,
    job: FollowJob,
) {
    let thread_shared = Arc::clone(shared);
    let builder = thread::Builder::new().name("trace-follow".to_owned());
    let spawned = builder.spawn(move || {
        let reply = start(&handle, job).map_or_else(Reply::Failed, |()| Reply::Following);
        // A copy of the handle would delay the end of the session.
        drop(handle);
        thread_shared.send(Message::Following(ticket, Box::new(reply)));
    });
    if let Err(error) = spawned {
        let error = ControlError::general(GeneralError::Failed, error.to_string());
        shared.send(Message::Following(ticket, Box::new(Reply::Failed(error))));
    }
}

fn start(handle: &SessionHandle, job: FollowJob) -> Result<(), ControlError> {
    let FollowJob { categories, descriptor, peer, lease } = job;
    let failed = |error: io::Error| ControlError::general(GeneralError::Output, error.to_string());
    let descriptor = descriptor.into_owned().map_err(failed)?;
    let output = OpenOutput::open(&Output::Descriptor, descriptor, peer).map_err(failed)?;
    let descriptor = output.into_stream().map_err(failed)?;
    handle.follow_leased(descriptor, categories, Some(lease)).map_err(|error| {
        let code = match error {
            ManagerError::FollowMode => GeneralError::Unsupported,
            ManagerError::TooManyFollowers { .. } => GeneralError::Quota,
            _ => GeneralError::Failed,
        };
        ControlError::general(code, error.to_string())
    })
}
