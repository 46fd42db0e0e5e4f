//! Cutting the archives of sessions into parts.

use super::state::EventLoop;
use crate::machine::{Input, SessionNumber};
use crate::notice::Notice;
use crate::recording::RotationStep;

impl EventLoop {
    /// Cuts the archives that have reached their size or time.
    pub(super) fn rotate_archives(&mut self) {
        for session in self.active.keys().copied().collect::<Vec<_>>() {
            let Some(active) = self.active.get_mut(&session) else { continue };
            match active.recording.rotation_step() {
                Some(RotationStep::Flush) => self.dispatch(Input::Flush(session)),
                Some(RotationStep::Cut) => self.cut(session),
                None => {}
            }
            self.announce_parts(session);
        }
    }

    fn announce_parts(&self, session: SessionNumber) {
        let Some(active) = self.active.get(&session) else { return };
        for path in active.recording.take_new_parts() {
            active.alerts.notices.send(Notice::Part { path });
        }
    }

    fn cut(&mut self, session: SessionNumber) {
        self.pass_all_on();
        if let (Some(active), Some(collection)) =
            (self.active.get_mut(&session), &mut self.collection)
        {
            active.recording.cut(collection);
        }
    }
}
