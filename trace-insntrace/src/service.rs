//! The controller as a service of its own process, and its client.
//!
//! ```text
//!  client                                   service
//!     | ---- connect to the Unix socket ------> |   peers of other users are refused
//!     | <--- status, a packet socket ---------- |
//!     | ---- request -------------------------> |
//!     | <--- reply, perhaps a descriptor ------ |
//!     | ---- close or die --------------------> |   threads are released, buffers are freed
//! ```
//!
//! A process cannot trace its own threads, so that the service is a process of its own. The service
//! ends only after all threads are released: if a tracer is killed, the kernel leaves the trap flag
//! of its threads set.

mod backend;
mod buffer;
mod chunk;
mod client;
mod hardware;
mod server;
mod side_thread;
mod target;
mod trace_data;
mod wire;
mod worker;

use std::path::PathBuf;

pub use backend::{Settings, StepBackend};
pub use client::{Client, Error};
pub use hardware::HardwareBackend;
pub use server::{Ender, Lifetime, Service};
pub use trace_data::TraceData;

/// Returns the path of the service `name`, in the folder of the manager's socket.
#[must_use]
pub fn socket_path(name: &str) -> PathBuf {
    let manager = trace_protocol::socket::default_socket_path();
    manager.with_file_name(format!("insn-{name}.sock"))
}
