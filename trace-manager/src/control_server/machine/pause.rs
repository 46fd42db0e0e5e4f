//! Sessions that stop, and may start again.

use trace_protocol::categories;
use trace_protocol::control::{
    check_categories, ControlError, ErrorCode, GeneralError, Reply, StartRequest, StopError,
};

use super::requests::{general, Refused};
use super::session::{Phase, Starting};
use super::{ControlMachine, Output, SessionId, Ticket};
use crate::machine::Time;

impl ControlMachine {
    /// Stops a session without results. The reply is sent when its providers have stopped.
    pub(super) fn pause(
        &mut self,
        ticket: Ticket,
        id: SessionId,
        now: Time,
    ) -> Result<(), Refused> {
        let refused = |error, reason: &str| Err((ErrorCode::Stop(error), reason.to_owned()));
        self.recording(id, now);
        let Some(session) = self.sessions.get_mut(&id) else { return Ok(()) };
        match &mut session.phase {
            Phase::Started => {
                self.outputs.push(Output::Pause(id));
                self.enter(id, Phase::Pausing(vec![ticket]));
                Ok(())
            }
            Phase::Pausing(tickets) => {
                if tickets.iter().any(|it| it.client == ticket.client) {
                    let reason = "this connection waits for the stop of the session already";
                    return Err(general(GeneralError::BadRequest, reason));
                }
                tickets.push(ticket);
                Ok(())
            }
            Phase::Paused => {
                self.reply(ticket, Reply::Paused);
                Ok(())
            }
            Phase::Initialized(_) | Phase::Starting(_) => {
                refused(StopError::NotStarted, "the session has not started")
            }
            Phase::Stopping | Phase::Stopped(_) => refused(StopError::Aborted, "the session ends"),
        }
    }

    pub(super) fn paused(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let Phase::Pausing(tickets) = &mut session.phase else { return };
        let tickets = std::mem::take(tickets);
        self.enter(id, Phase::Paused);
        tickets.into_iter().for_each(|ticket| self.reply(ticket, Reply::Paused));
    }

    /// Replies to those that wait for a stop without results: the session ends.
    pub(super) fn refuse_pauses(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let Phase::Pausing(tickets) = &mut session.phase else { return };
        let (code, reason) = (ErrorCode::Stop(StopError::Aborted), "the session ends".to_owned());
        let failed = Reply::Failed(ControlError { code, reason });
        let tickets = std::mem::take(tickets);
        tickets.into_iter().for_each(|ticket| self.reply(ticket, failed.clone()));
    }

    /// Starts a session again, with further categories for this start and later ones.
    pub(super) fn start_again(
        &mut self,
        ticket: Ticket,
        id: SessionId,
        start: &StartRequest,
        additional: &[String],
        now: Time,
    ) -> Result<(), Refused> {
        let changed = match additional {
            [] => None,
            additional => self.with_categories(id, additional)?,
        };
        self.take_change(ticket, now)?;
        self.outputs.push(Output::StartAgain(id, ticket, start.disposition, changed));
        Ok(())
    }

    /// Returns the category patterns of a session with further ones, or `None` if they are the
    /// same.
    fn with_categories(
        &self,
        id: SessionId,
        additional: &[String],
    ) -> Result<Option<Vec<String>>, Refused> {
        let bad = |reason: String| general(GeneralError::BadRequest, reason);
        let Some(session) = self.sessions.get(&id) else { return Ok(None) };
        let earlier = session.category_patterns().map_err(bad)?;
        let changed = categories::change(&earlier, additional, &[]);
        check_categories(&changed).map_err(bad)?;
        // An empty list selects all categories already.
        Ok(Some(changed).filter(|changed| !earlier.is_empty() && *changed != earlier))
    }

    /// Notes whether a session starts again, with these category patterns if they change. The reply
    /// is sent when its programs record.
    pub(super) fn started_again(
        &mut self,
        id: SessionId,
        ticket: Ticket,
        result: Result<Option<Vec<String>>, ControlError>,
        now: Time,
    ) {
        let changed = match result {
            Ok(changed) => changed,
            Err(error) => return self.reply(ticket, Reply::Failed(error)),
        };
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if let Some(patterns) = changed {
            session.set_categories(patterns);
        }
        let until = Some(session.start_deadline(now));
        self.enter(id, Phase::Starting(Starting { until, ..Starting::new(ticket) }));
    }
}
