//! Tracepoints by `perf_event_open(2)`, for users who may read the formats of events in tracefs,
//! but not create an instance.
//!
//! The kernel writes the events of all threads. Those of other threads are left out.

use super::cpus::Cpus;
use super::record::{Body, SampleLayout};
use super::sys::{self, Attributes, Target};
use super::timed::Timed;
use crate::decode::Decoder;
use crate::live::backend::{Backend, Output, Progress};
use crate::live::batch::BatchEvent;
use crate::live::clock::TraceClock;
use crate::live::error::{LiveError, PerfScope};
use crate::live::instance::{available_events, read_format};
use crate::live::members::Members;
use crate::live::scope::Scope;
use crate::live::selection::{Selection, UsesById};
use crate::live::setup::check_thread_ids;
use crate::live::translate::translate;
use crate::page::RawEvent;

/// The type of an event: `PERF_TYPE_TRACEPOINT`.
const TRACEPOINT: u32 = 2;

/// The bit of `sample_type` for the event of a tracepoint.
const RAW: u64 = 1 << 10;

/// The selected tracepoints.
#[derive(Debug)]
pub(in crate::live) struct Tracepoints {
    cpus: Cpus,
    decoder: Decoder,
    uses: UsesById,
    /// The threads of the scope at its start; `None` for the machine.
    scope: Option<Vec<u64>>,
    members: Option<Members>,
}

impl Tracepoints {
    /// Opens the tracepoints that `patterns` select.
    pub(in crate::live) fn open(
        scope: &Scope,
        patterns: &[String],
        bytes: u64,
    ) -> Result<Self, LiveError> {
        let scope = match scope {
            Scope::Machine => None,
            Scope::Threads(_) | Scope::Command(_) => Some(scope.threads()?),
            Scope::Cgroup(_) => return Err(LiveError::TracepointScope),
        };
        // The events have the kernel's ids.
        check_thread_ids()?;
        let selection = Selection::new(patterns, &available_events()?)?;
        let read = |event: String| read_format(&event).map(|text| (event, text));
        let formats = selection.names().into_iter().map(read);
        let formats = formats.collect::<Result<Vec<_>, LiveError>>()?;
        let (decoder, uses) = selection.decoding(&formats)?;
        let attributes = |id: u16| Attributes {
            kind: TRACEPOINT,
            config: id.into(),
            rate: 1,
            sample_type: sys::SAMPLE_TID_TIME_CPU | RAW,
            ..Attributes::default()
        };
        let events: Vec<_> = uses.ids().map(|id| (attributes(id), Target::Cpu)).collect();
        let layout = SampleLayout { has_raw: true, ..SampleLayout::default() };
        let cpus = Cpus::open_events(&events, layout, bytes);
        let cpus = cpus.map_err(|error| LiveError::Perf(PerfScope::Machine, error))?;
        Ok(Self { cpus, decoder, uses, scope, members: None })
    }
}

impl Backend for Tracepoints {
    fn start(&mut self) -> Result<(), String> {
        self.members = self.scope.as_ref().map(|threads| Members::new(threads.iter().copied()));
        self.cpus.start()
    }

    fn stop(&mut self) -> Result<(), String> {
        self.cpus.stop()
    }

    fn read(&mut self, clock: &TraceClock, _now: u64) -> Progress {
        self.cpus.read(clock)
    }

    fn write(&mut self, end: u64, output: &mut Output<'_, '_>) -> Result<(), String> {
        let Self { cpus, decoder, uses, members, .. } = self;
        cpus.write(end, output, |timed, output| match event(timed) {
            Some(event) => translate(output, (decoder, uses), members.as_mut(), &event),
            None => Ok(()),
        })
    }

    fn finish(&mut self, now: u64, output: &mut Output<'_, '_>) -> Result<(), String> {
        self.cpus.finish(now, output)
    }

    fn discard(&mut self) -> u64 {
        self.cpus.discard()
    }
}

/// Returns the event of a record, which begins with its id.
fn event(timed: &Timed) -> Option<BatchEvent<'_>> {
    let Body::Sample(sample) = &timed.record.body else { return None };
    let id = u16::from_ne_bytes(*sample.raw.first_chunk()?);
    let raw = RawEvent { time: timed.ticks, id, payload: &sample.raw, offset: 0 };
    Some(BatchEvent { cpu: timed.cpu(), raw, loss: None })
}
