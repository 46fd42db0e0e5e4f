//! Writing the buffer: the provider's half.
//!
//! | module | subject | who runs it |
//! |---|---|---|
//! | `reservation` | **the hot path**: reserve, commit | traced threads |
//! | `slot` | what one thread needs for that | traced threads |
//! | `interrupted` | trace points that a signal handler left by a jump | traced threads, in this case |
//! | `scope` | scopes, and what their end does | traced threads |
//! | `function` | scopes without arguments in two words | traced threads |
//! | `recorder` | epochs, refill, switching, quiescence | traced threads once a chunk; the service thread |
//! | `chunk` | what makes a chunk decode by itself | traced threads once a chunk |
//! | `loss_table` | what each thread lost | traced threads, where there is no room |
//! | `control` | start, stop, hand over | the service thread |
//! | `stream` | from circular to streaming mode | the service thread |

mod backoff;
mod chunk;
mod control;
mod durable;
mod ends;
mod function;
mod interrupted;
mod loss;
mod loss_table;
mod pool;
mod publish;
mod recorder;
mod reservation;
mod scope;
mod session;
mod slot;
mod stream;

pub use durable::{DurableFull, DurableWriter};
pub use loss::LossReason;
pub use recorder::Recorder;
pub use reservation::Reservation;
pub(crate) use scope::wrapped_count_of_mark;
pub use scope::{OpenScope, Watch, WatchedDuration};
pub use session::{LossStrings, RecorderSession, Wake, CHUNK_THREAD};
pub use slot::Slot;
pub use stream::Streamed;
