//! A trace provider as a library: connection to the manager, buffers, string and thread tables,
//! start and stop, observers.

// Proofs and system calls are in the modules that allow unsafe code.
#![deny(unsafe_code)]

mod not_traced;
mod state;

#[cfg(target_os = "linux")]
mod active;
#[cfg(target_os = "linux")]
mod alert;
#[cfg(target_os = "linux")]
mod alert_sender;
#[cfg(target_os = "linux")]
mod backoff;
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
mod categories;
#[cfg(target_os = "linux")]
mod client;
#[cfg(target_os = "linux")]
mod config;
#[cfg(target_os = "linux")]
mod engine;
#[cfg(target_os = "linux")]
mod environment;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod link;
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
mod lock;
#[cfg(target_os = "linux")]
mod names;
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
mod observers;
#[cfg(target_os = "linux")]
mod output;
#[cfg(target_os = "linux")]
mod problem;
#[cfg(target_os = "linux")]
mod received;
#[cfg(target_os = "linux")]
mod recording;
#[cfg(target_os = "linux")]
mod registration;
#[cfg(target_os = "linux")]
mod running;
#[cfg(target_os = "linux")]
mod service;
#[cfg(target_os = "linux")]
mod service_thread;
#[cfg(target_os = "linux")]
mod session;
#[cfg(target_os = "linux")]
mod slots;
#[cfg(target_os = "linux")]
mod status;
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
mod sys;
#[cfg(target_os = "linux")]
mod table;
#[cfg(target_os = "linux")]
mod turn;
#[cfg(target_os = "linux")]
mod wait;
#[cfg(target_os = "linux")]
mod wake;

pub use not_traced::NotTraced;
pub use state::TraceState;

#[cfg(target_os = "linux")]
pub use {
    alert::AlertCount,
    client::{Client, RecordClock},
    config::Config,
    engine::Engine,
    environment::chosen,
    lock::ProcessLock,
    names::{tell_own, thread_object},
    observers::{is_here, Observer},
    running::Running,
    status::Status,
    table::{Keep, Table},
    turn::Turn,
};
