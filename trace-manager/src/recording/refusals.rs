//! What the manager itself reports in the archive: refused providers, helpers that ended while the
//! session was stopped, and interruptions.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use trace_format::notes::Omission;
use trace_protocol::archive::{self, ClockSample, Identity};
use trace_protocol::message::ClockSource;

use super::Recording;
use crate::machine::ProviderId;
use crate::records::Records;
use crate::summary::Refusal;

/// The archive id of the manager. Those of providers begin with 1.
const MANAGER: u32 = 0;

/// The number of refusals that are kept. A quarter is for programs that the session does not heed:
/// they displace no others.
pub(super) const MAX_REFUSALS: usize = 100;

/// The refused providers of a session.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    pub(super) first: Vec<Refusal>,
    pub(super) number: u64,
    last: Option<Refusal>,
    /// Whether the session heeds the program of `last`.
    is_last_heeded: bool,
    /// The number of the first ones that the caller has got.
    reported: usize,
    /// Those of connected providers that the session has not recorded, if it does not start again.
    deferred: BTreeMap<ProviderId, (u32, Refusal)>,
    /// Connected providers that the session does not record, because it has no memory for the
    /// records that it would retain.
    without_memory: BTreeSet<ProviderId>,
}

impl Recording {
    /// Records that a provider of the user `uid` was refused. Only the first refusals are kept.
    pub(crate) fn refuse(&mut self, uid: u32, refusal: Refusal) {
        let is_heeded = self.config.may_trigger(uid);
        self.refusals.number += 1;
        if is_heeded || !self.refusals.is_last_heeded {
            self.refusals.last = Some(refusal.clone());
            self.refusals.is_last_heeded = is_heeded;
        }
        let most = if is_heeded { MAX_REFUSALS } else { MAX_REFUSALS / 4 };
        if self.refusals.first.len() < most {
            self.refusals.first.push(refusal);
        }
    }

    /// Returns the number of refusals so far, and the last one.
    pub(crate) fn refusals(&self) -> (u64, Option<Refusal>) {
        (self.refusals.number, self.refusals.last.clone())
    }

    /// Returns the refusals since the last call, of those that are kept.
    pub(crate) fn new_refusals(&mut self) -> &[Refusal] {
        let first = std::mem::replace(&mut self.refusals.reported, self.refusals.first.len());
        self.refusals.first.get(first..).unwrap_or(&[])
    }

    /// Records that a provider was refused, whose refusal may have been deferred before.
    pub(crate) fn refuse_finally(&mut self, id: ProviderId, uid: u32, refusal: Refusal) {
        self.withdraw_refusal(id);
        self.refuse(uid, refusal);
    }

    /// Notes that a provider is refused if the session ends or the provider disconnects before the
    /// session records it.
    pub(crate) fn defer_refusal(&mut self, id: ProviderId, uid: u32, refusal: Refusal) {
        self.refusals.deferred.insert(id, (uid, refusal));
    }

    /// Refuses a provider, which has a buffer, because there is no memory for the records that the
    /// session would retain.
    pub(super) fn refuse_for_memory(&mut self, id: ProviderId, uid: u32, refusal: Refusal) {
        self.refusals.without_memory.insert(id);
        self.refuse(uid, refusal);
    }

    /// Returns whether the session does not record a provider for this reason.
    pub(crate) fn lacks_memory(&self, id: ProviderId) -> bool {
        self.refusals.without_memory.contains(&id)
    }

    /// Notes that the session records a provider.
    pub(super) fn withdraw_refusal(&mut self, id: ProviderId) {
        self.refusals.deferred.remove(&id);
        self.refusals.without_memory.remove(&id);
    }

    /// Notes that a provider has disconnected.
    pub(crate) fn disconnected(&mut self, id: ProviderId) {
        self.helpers.disconnected(id, self.stopped_at.is_some());
        self.refusals.without_memory.remove(&id);
        let deferred = self.refusals.deferred.remove(&id);
        deferred.into_iter().for_each(|(uid, refusal)| self.refuse(uid, refusal));
        if self.joined.disconnected(id) {
            self.forget(id);
        }
    }

    /// Records the deferred refusals: the session ends.
    pub(super) fn refuse_deferred(&mut self) {
        let deferred = std::mem::take(&mut self.refusals.deferred);
        deferred.into_values().for_each(|(uid, refusal)| self.refuse(uid, refusal));
    }

    /// Writes the numbers of refusals and of missing helpers into the archive, as a provider of its
    /// own: these have none, or have left.
    pub(super) fn report_omissions(&mut self, now: &ClockSample, counter_rate: u64) {
        let omissions = [
            (Omission::Connections, self.refusals.number),
            (Omission::Helpers, self.helpers.missing()),
        ];
        let omissions = omissions.into_iter().filter(|(_, number)| *number != 0);
        let clock = ClockSource::CpuCounter;
        if omissions.clone().next().is_none() {
            return;
        }
        self.report(clock, now, counter_rate, |words, manager| {
            for (omission, number) in omissions {
                archive::omission(words, manager, now.ticks(clock), omission, number);
            }
        });
    }

    /// Writes the time between an earlier recording and this one, which continues it.
    pub(super) fn report_interruption(&mut self, interrupted_at: Duration) {
        let (clock, now) = (ClockSource::Boottime, ClockSample::now());
        let from = u64::try_from(interrupted_at.as_nanos()).unwrap_or(u64::MAX);
        let to = now.ticks(clock);
        self.report(clock, &now, 1_000_000_000, |words, manager| {
            archive::interruption(words, manager, from.min(to), to);
        });
    }

    /// Writes records of the manager itself into the archive.
    fn report(
        &mut self,
        clock: ClockSource,
        now: &ClockSample,
        ticks_per_second: u64,
        write: impl FnOnce(&mut Vec<u64>, &Identity),
    ) {
        let manager = Identity {
            id: MANAGER,
            name: "trace manager".to_owned(),
            process_name: "trace manager".to_owned(),
            pid: std::process::id(),
            uid: rustix::process::getuid().as_raw(),
            clock,
        };
        let mut words = Records::begin(&self.spares, MANAGER);
        archive::opening(&mut words, &manager, ticks_per_second, now);
        write(&mut words, &manager);
        archive::anchor(&mut words, &manager, now);
        let records = self.block(MANAGER, words);
        self.outputs.archive.take_opening(&records);
    }
}
