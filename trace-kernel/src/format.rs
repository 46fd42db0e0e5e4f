//! The kernel's descriptions of its events: `events/SYSTEM/NAME/format`, `events/header_page` and
//! `events/header_event` of tracefs.
//!
//! ```text
//! name: sched_waking
//! ID: 375
//! format:
//!         field:unsigned short common_type;  offset:0;  size:2;  signed:0;
//!         …
//!         field:char comm[16];  offset:8;  size:16;  signed:0;
//!         field:pid_t pid;  offset:24;  size:4;  signed:1;
//!
//! print fmt: "comm=%s pid=%d", REC->comm, REC->pid
//! ```
//!
//! Offsets count from the start of the event's payload, which begins with the common fields.

mod declaration;
mod error;
mod event;
mod field;
mod header;
mod symbols;

pub use error::{FormatError, FormatFault};
pub use event::EventFormat;
pub(crate) use field::text;
pub use field::{Field, Place, Shape, Value};
pub use header::{check_event_header, page_layout};
