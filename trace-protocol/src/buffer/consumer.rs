//! Reading the buffer: the manager's half, also that of recovery.
//!
//! Every word is hostile. A part of the buffer is copied first, word by word, and only the copy is
//! looked at, since the memory can change at any time. What leaves here is a sequence of
//! well-formed records.
//!
//! | module | subject |
//! |---|---|
//! | `collector` | which parts to read, in which order, once each |
//! | `chunks` | the chunks of a rolling buffer |
//! | `copy_memory` | memory for copies of them |
//! | `live` | the same of a buffer that is being written |
//! | `slot` | copies that outlive the process that made them |
//! | `filter` | which records stay, and what becomes of open and late scopes |
//! | `frame` | where a record ends |
//! | `functions` | function records as duration records |
//! | `category_counts` | events by category, in bounded memory |
//! | `losses` | which records a provider lost |
//! | `omitted` | what a provider says that it left out |
//! | `check` | whether one record is well-formed |
//! | `ownership` | in whose name a record speaks |

mod category_counts;
mod check;
mod chunks;
mod collector;
mod copy_memory;
mod filter;
mod frame;
mod functions;
mod live;
mod losses;
mod omitted;
mod ownership;
mod slot;
mod stats;

pub use category_counts::CategoryCounts;
pub use check::{check_record, Registered};
pub use chunks::RawSave;
pub use collector::{Checked, Collector, CollectorError};
pub use frame::record_words;
pub use functions::most_words;
pub use live::LiveCopy;
pub use losses::{EarlierLosses, Unreported};
pub use ownership::IdentityPolicy;
pub use slot::{SaveSlot, SlotReader};
pub use stats::{Rejection, Stats};
