//! The start of a session.

use std::io;
use std::time::Duration;

use super::active::{Active, Alerts};
use super::command::StartRequest;
use super::state::EventLoop;
use crate::archive::ArchiveSink;
use crate::collection::{Collection, Finisher};
use crate::error::ManagerError;
use crate::ledger::GuardHandle;
use crate::machine::{Input, ProviderConfig, Triggers};
use crate::recording::{Recording, Sinks};
use crate::records::Spares;
use crate::sink::SinkRequest;
use crate::snapshot::{SnapshotNames, Snapshots};

impl EventLoop {
    pub(super) fn start(&mut self, request: StartRequest) {
        let reply = request.reply.clone();
        if self.quitting {
            request.discard();
            // Fails if the caller no longer waits.
            let _ = reply.send(Err(ManagerError::Ended));
            return;
        }
        let result = self.try_start(request).map_err(ManagerError::EventLoop);
        let _ = reply.send(result);
    }

    /// Starts a session. Returns its number.
    fn try_start(&mut self, request: StartRequest) -> io::Result<u64> {
        let StartRequest { config, output, sinks, guard, path, notices, discarded, .. } = request;
        let (shared, done, waker) = (request.shared, request.done, self.inbox.waker.clone());
        let (limits, keep) = (config.snapshots, config.keep_limits());
        let snapshots = Snapshots::spawn(waker, notices.clone(), keep, config.copied_size());
        let is_guarded = guard.is_some();
        let handle =
            guard.and_then(|guard| GuardHandle::begin(guard, &output, &config.all_categories()));
        let layout = config.layout(0).ok();
        // The writer is started last: it ends by a command, and the other threads when their
        // handles are dropped.
        let threads = self.open_collection().and_then(|spares| {
            let snapshots = snapshots?;
            let (guard, spares_of_archive) = (handle.clone(), spares.clone());
            let archive = ArchiveSink::begin(output, guard, layout, discarded, spares_of_archive)?;
            Ok((archive, snapshots, spares))
        });
        let (archive, snapshots, spares) = match threads {
            Ok(threads) => threads,
            Err(error) => {
                handle.iter().for_each(GuardHandle::abandoned);
                sinks.into_iter().for_each(SinkRequest::discard);
                self.close_collection();
                return Err(error);
            }
        };
        self.last_session += 1;
        let number = self.last_session;
        let size = layout.map_or(0, |layout| layout.total_size() as u64);
        self.admission.begin_session(size, self.active.is_empty());
        let outputs = Sinks::new(archive, &config, sinks, &spares);
        let categories = outputs.categories().to_vec();
        let provider_config = ProviderConfig { categories, ..config.provider_config() };
        let triggers = Triggers::new(config.triggers.clone(), limits.min_interval);
        let triggers = triggers.with_rules(&config.rules);
        let clocks = &mut self.clocks;
        let mut recording = Recording::begin(number, config, outputs, snapshots, spares, clocks);
        let (watches, next_condition) = recording.number_conditions(self.next_condition);
        self.next_condition = next_condition;
        let provider_config = ProviderConfig { watches, ..provider_config };
        let alerts = Alerts { triggers, notices, names: SnapshotNames::new(path) };
        let mut active = Active::new(number, recording, alerts, shared, done);
        active.guard = handle;
        if is_guarded && active.guard.is_none() {
            active.fail_guard("it did not take the session");
        }
        self.active.insert(number, active);
        self.dispatch(Input::Open(number, provider_config));
        self.dispatch(Input::Start(number, Default::default()));
        self.publish_progress(Duration::ZERO);
        Ok(number)
    }

    /// Creates the collection, if there is none. Returns its spare vectors.
    fn open_collection(&mut self) -> io::Result<Spares> {
        if self.collection.is_none() {
            let finisher = Finisher::spawn(self.inbox.waker.clone())?;
            self.collection = Some(Collection::new(finisher, Spares::default()));
        }
        Ok(self.collection.as_ref().map(|it| it.spares().clone()).unwrap_or_default())
    }

    /// Drops the collection after the last session.
    pub(super) fn close_collection(&mut self) {
        if self.active.is_empty() {
            self.collection = None;
        }
    }
}
