//! Writing the buffer: the provider's half.
//!
//! | module | subject | who runs it |
//! |---|---|---|
//! | `slot` | **the hot path**: reserve, commit | traced threads |
//! | `scope` | scopes, and what their end does | traced threads |
//! | `recorder` | epochs, refill, switching, quiescence | traced threads once a chunk; the service thread |
//! | `chunk` | what makes a chunk decode by itself | traced threads once a chunk |
//! | `control` | start, stop, hand over | the service thread |

mod backoff;
mod chunk;
mod control;
mod durable;
mod ends;
mod loss;
mod pool;
mod recorder;
mod scope;
mod session;
mod slot;

pub use chunk::CHUNK_THREAD;
pub use durable::{DurableFull, DurableWriter};
pub use loss::LossReason;
pub use recorder::Recorder;
pub use scope::{OpenScope, LATE_COMPLETE};
pub use session::{LossStrings, Session};
pub use slot::{Record, Slot};
