//! The fuzz targets: functions that panic if a property does not hold for an input.

mod archive;
mod choices;
mod collector;
mod commands;
#[path = "../../trace-cli/src/compression.rs"]
#[allow(dead_code)]
mod compression;
#[path = "../../trace-cli/src/commands/flamegraph/draw.rs"]
#[allow(dead_code)]
mod draw;
mod insntrace;
mod json;
mod kernel;
mod memory;
#[path = "../../trace-cli/src/message.rs"]
#[allow(dead_code, unused_imports)]
mod message;
mod messages;
mod provider;
mod records;
mod xray;

pub use collector::collector;
pub use commands::{
    compressed, critical_path, export, merge, pftrace, read, recover, slice, stacks, stats,
    timeline,
};
pub use insntrace::{flow, pt};
pub use json::{fxt, json};
pub use kernel::{kernel, perf_data, trace_dat};
pub use memory::memory;
pub use messages::{control, packet, registration};
pub use trace_manager::fuzzing::{connections, interleavings, server};
pub use xray::{xray, xray_map, xray_yaml};
