#![doc = include_str!("../README.md")]
// Each module that allows unsafe code is named in ARCHITECTURE.md.
#![deny(unsafe_code)]

#[cfg(target_os = "linux")]
mod engine;
#[cfg(target_os = "linux")]
mod generation;
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
mod lock;
mod not_traced;
#[cfg(target_os = "linux")]
mod provider;
#[cfg(target_os = "linux")]
mod service;
mod signal_lock;
mod state;
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
mod sys;

pub use not_traced::NotTraced;
pub use signal_lock::{SignalGuard, SignalLock};
pub use state::TraceState;
/// The trace format: records to write, and the layout of their words.
#[cfg(target_os = "linux")]
pub use trace_format as format;
#[cfg(target_os = "linux")]
pub use {
    engine::access::Access,
    engine::alert::AlertCount,
    engine::client::{Client, RecordClock},
    engine::names::{thread_object, write_own_name},
    engine::observers::{is_inside_observer, Observer},
    engine::table::{Keep, Table},
    engine::turn::{Demands, Durations, Turn},
    engine::Engine,
    generation::Generation,
    lock::ProcessLock,
    provider::context::Context,
    provider::reserved::Reserved,
    provider::writer::Writer,
    provider::{Builder, Provider, ProviderObserver},
    service::config::{Config, OutputFormat},
    service::environment::parse_variable,
    service::running::Running,
    service::status::Status,
    sys::is_privileged,
    sys::{announce_own_thread, have_threads_ended},
};
