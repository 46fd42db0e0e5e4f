//! Pages of the kernel's ring buffer, as `per_cpu/cpuN/trace_pipe_raw` returns them.
//!
//! ```text
//! ┌───────────┬──────────────────────┬────────────────────────┬───────────────┬──────────┐
//! │ time, u64 │ commit, long:        │ events                 │ missed events │ unused   │
//! │           │ length, flags 30, 31 │ (`length` bytes)       │ (if flag 30)  │          │
//! └───────────┴──────────────────────┴────────────────────────┴───────────────┴──────────┘
//!
//! event: ┌──────────────────────────────┬─────────────┬──────────────────────────┐
//!        │ u32: type 5 bits, delta 27   │ u32, if any │ payload, from the id on  │
//!        └──────────────────────────────┴─────────────┴──────────────────────────┘
//! ```
//!
//! | type | the u32 behind it | event |
//! |---|---|---|
//! | 0 | its own length and the payload's | payload of that length |
//! | 1 to 28 | none | payload of 4 times as many bytes |
//! | 29 | length of the padding | none; with delta 0 the page ends here |
//! | 30 | bits 27 to 58 of a time delta | none |
//! | 31 | bits 27 to 58 of the time itself | none |
//!
//! Deltas count from the event before, and the first from the page's time. In big-endian data the
//! type is in the header's upper bits.

mod error;
mod events;
mod header;

pub use error::{PageError, PageFault};
pub(crate) use events::Position;
pub use events::{Events, RawEvent};
pub use header::{Missed, Page, PageLayout};
