#![deny(unsafe_code)]
#![doc = include_str!("../README.md")]

mod by_thread;
mod byte_order;
mod decode;
mod event;
pub mod format;
pub mod ftrace;
pub mod fxt;
#[cfg(target_os = "linux")]
pub mod live;
mod marker;
pub mod page;
#[cfg(target_os = "linux")]
pub mod perf_data;
#[cfg(target_os = "linux")]
pub mod perf_event;
mod state;
pub mod trace_dat;

pub use byte_order::ByteOrder;
pub use decode::Decoder;
pub use event::{Context, Entry, Event, Task};
pub use marker::Marker;
pub use state::thread_state;
