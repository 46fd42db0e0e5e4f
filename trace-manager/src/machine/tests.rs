//! One file for each phase of a session. Providers reply only where a test does it.

mod conditions;
mod cost;
mod dead;
mod initialize;
mod late;
mod random;
mod save;
mod several;
mod slow;
mod start;
mod stop;
mod stream;
mod terminate;
mod triggers;

use std::collections::BTreeMap;
use std::time::Duration;

use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::message::{Features, Initialize, StartOptions, ToProvider};
use trace_protocol::packet::Packet;

use super::*;

pub(super) const DURABLE_SIZE: u64 = 4096;
pub(super) const ROLLING_BUFFERS: u32 = 8;

/// A coordinator, its clock, and its outputs since the last check.
pub(super) struct Scene {
    pub(super) coordinator: Coordinator,
    pub(super) now: Time,
    pub(super) log: Vec<Output>,
    /// Whether there is memory for buffers.
    pub(super) memory: bool,
    /// A session for which there is no memory beside others.
    pub(super) unserved: Option<SessionNumber>,
    /// The sessions of each provider when its last buffer was created.
    pub(super) created: BTreeMap<ProviderId, Vec<SessionNumber>>,
}

impl Scene {
    /// Returns a scene with `providers` registered providers, numbered from 1.
    pub(super) fn new(providers: u32) -> Self {
        let coordinator = Coordinator::new();
        let (now, log, created) = (Duration::from_secs(100), Vec::new(), BTreeMap::new());
        let mut scene = Self { coordinator, now, log, memory: true, unserved: None, created };
        for id in 1..=providers {
            scene.dispatch(register(id));
        }
        scene.log.clear();
        scene
    }

    /// Returns a scene whose session is starting; no provider has replied.
    pub(super) fn starting(providers: u32) -> Self {
        let mut scene = Self::new(providers);
        scene.dispatch(Input::Open(1, config()));
        scene.dispatch(Input::Start(1, StartOptions::default()));
        scene.log.clear();
        scene
    }

    /// Returns a scene in which all providers record.
    pub(super) fn started(providers: u32) -> Self {
        let mut scene = Self::starting(providers);
        for id in 1..=providers {
            scene.packet(id, Packet::Started { version: 1 });
        }
        scene.log.clear();
        scene
    }

    /// Dispatches an input, and creates the requested buffers.
    pub(super) fn dispatch(&mut self, input: Input) {
        let outputs = self.coordinator.on(input, self.now);
        for output in outputs {
            self.log.push(output.clone());
            if let Output::Stream(id) = output {
                self.event(id, TraceeEvent::StreamReserved { has_memory: self.memory });
            }
            if let Output::Provider(id, TraceeAction::CreateBuffer) = output {
                if let Some(session) = self.unserved {
                    self.dispatch(Input::Unserved(id, session));
                }
                self.created.insert(id, self.coordinator.sessions_of(id));
                self.event(
                    id,
                    match self.memory {
                        true => TraceeEvent::BufferReady {
                            durable_size: DURABLE_SIZE,
                            rolling_buffers: ROLLING_BUFFERS,
                        },
                        false => TraceeEvent::NoBuffer,
                    },
                );
            }
        }
    }

    pub(super) fn event(&mut self, id: ProviderId, event: TraceeEvent) {
        self.dispatch(Input::Provider(id, event));
    }

    pub(super) fn packet(&mut self, id: ProviderId, packet: Packet) {
        self.event(id, TraceeEvent::Packet(packet));
    }

    /// Advances the clock and dispatches a tick.
    pub(super) fn pass(&mut self, time: Duration) {
        self.now += time;
        self.dispatch(Input::Tick);
    }

    pub(super) fn state(&self) -> Option<SessionState> {
        self.coordinator.session_state(1)
    }

    pub(super) fn tracee(&self, id: ProviderId) -> TraceeState {
        self.coordinator.tracee(id).map_or(TraceeState::Dead, Tracee::state)
    }

    /// Removes and returns the actions for a provider since the last call.
    pub(super) fn actions(&mut self, id: ProviderId) -> Vec<TraceeAction> {
        let (mut of_provider, mut rest) = (Vec::new(), Vec::new());
        for output in self.log.drain(..) {
            match output {
                Output::Provider(other, action) if other == id => of_provider.push(action),
                output => rest.push(output),
            }
        }
        self.log = rest;
        of_provider
    }
}

pub(super) fn config() -> ProviderConfig {
    ProviderConfig {
        mode: BufferingMode::Streaming,
        categories: vec!["io".to_owned()],
        buffer_size: 1 << 20,
        timeouts: Timeouts::default(),
        user: None,
        only: ProviderFilter::default(),
        companion: None,
        providers: Vec::new(),
        watches: Vec::new(),
        function_records: false,
    }
}

/// The registration of a provider with all features.
pub(super) fn register(id: ProviderId) -> Input {
    register_as(id, 0)
}

/// The registration of a provider of this user, with all features.
pub(super) fn register_as(id: ProviderId, uid: u32) -> Input {
    let features = Features::SET_CATEGORIES.with(Features::SET_CONDITIONS);
    Input::Registered(id, Registration { uid, features, ..Registration::default() })
}

pub(super) fn send(message: ToProvider) -> TraceeAction {
    TraceeAction::Send(message)
}

pub(super) fn start() -> TraceeAction {
    send(ToProvider::Start(StartOptions::default()))
}

#[test]
fn ends_and_violations_have_texts() {
    let violations = [
        (Violation::Unexpected("a packet"), "sent a packet unexpectedly"),
        (
            Violation::PacketVersion(2),
            "uses version 2 of the packet protocol instead of version 1",
        ),
        (Violation::NotStreaming, "sent SAVE_BUFFER in a mode other than streaming"),
        (
            Violation::WrappedCount { expected: 1, found: 3 },
            "sent SAVE_BUFFER for wrapped count 3 instead of 1",
        ),
        (
            Violation::RollingBuffers { first: 1, current: 9 },
            "sent STREAMING for wrapped counts 1 to 9, which are not those of its rolling buffers",
        ),
        (
            Violation::DurableEnd { last: 8, found: 4 },
            "sent 4 as the end of its durable data, which is not a multiple of 8 between 8 and the \
             end of the buffer",
        ),
        (Violation::Flood, "sent too many messages or packets"),
        (Violation::NotReading, "does not read its messages"),
        (
            Violation::Descriptors,
            "is of a user whose programs passed descriptors that cannot be closed",
        ),
    ];
    for (violation, text) in violations {
        assert_eq!(violation.to_string(), text);
        assert_eq!(End::CutOff(violation).to_string(), format!("cut off: {text}"));
    }
    assert_eq!(End::Terminated.to_string(), "stopped");
    assert_eq!(End::TimedOut.to_string(), "did not answer to stop in time");
    assert_eq!(End::Disconnected.to_string(), "ended before the session");
}

#[test]
fn only_the_data_of_an_unknown_version_is_ignored() {
    assert!(End::CutOff(Violation::PacketVersion(2)).ignores_data());
    for end in [End::Terminated, End::TimedOut, End::CutOff(Violation::Flood)] {
        assert!(!end.ignores_data(), "{end}");
    }
}
