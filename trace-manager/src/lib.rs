//! The trace manager: state machines of sessions and providers, the event loop around them, and the
//! archive.
//!
//! ```no_run
//! use std::path::{Path, PathBuf};
//! use trace_manager::{ArchiveTarget, Manager, SessionConfig};
//!
//! # fn main() -> Result<(), trace_manager::ManagerError> {
//! let manager = Manager::bind(Path::new("/run/trace/manager.sock"))?;
//! let target = ArchiveTarget::File(PathBuf::from("trace.fxt"));
//! let session = manager.start(SessionConfig::default(), target)?;
//! std::thread::sleep(std::time::Duration::from_secs(1));
//! session.stop();
//! let summary = session.join()?;
//! println!("{} events of {} providers", summary.events(), summary.providers.len());
//! # Ok(())
//! # }
//! ```
//!
//! The protocol is described in `docs/protocol.md`.

#![forbid(unsafe_code)]

mod archive;
mod buffers;
mod category_filter;
#[cfg(any(test, feature = "fuzzing"))]
mod choices;
mod clock;
mod collection;
mod config;
mod control_server;
pub mod controller;
mod error;
#[cfg(test)]
mod fixture;
mod foreign;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod guard;
mod ledger;
mod limited;
mod limits;
pub mod machine;
mod machine_providers;
mod manager;
mod memory;
mod notice;
mod output;
mod query;
mod quota;
mod recording;
mod records;
mod recover;
mod retention;
mod server;
mod sink;
mod snapshot;
mod snapshot_rotation;
mod summary;
mod trigger;
mod wait;
mod waker;
mod window;

pub use archive::ArchiveSink;
pub use config::{Rotation, SessionConfig};
pub use control_server::{
    note_end, CategoryGroups, Companion, ConfigurationReporter, ControlLimits, ControlServer,
    ControlSettings, ServedSession, StartCompanion, StartGuard,
};
pub use error::{ArchiveError, ManagerError};
pub use guard::{run_guard, run_guard_with, GuardOutcome};
pub use ledger::Guard;
pub use limits::{Bound, Limits};
pub use machine::{
    End, ProviderFilter, ProviderSpec, SessionState, Timeouts, Trigger, TriggerAction, Violation,
};
pub use manager::{Manager, SessionHandle};
pub use notice::Notice;
pub use output::{ArchiveTarget, StreamBounds};
pub use query::{EventCounts, ProviderInfo, ProviderState, ProviderStatistics, SessionInfo};
pub use records::Records;
pub use recover::{recover, RecoverError, Recovered};
pub use sink::{Ending, Finish, Opening, Sink, SinkRequest};
pub use snapshot_rotation::SnapshotLimits;
pub use summary::{Progress, ProviderSummary, Refusal, SessionSummary, SnapshotSummary};
pub use trigger::{
    parse_duration, Cause, CommandStopper, Condition, CounterCondition, DurationCondition,
    LogLevel, TimeOfDay, TriggerActions, TriggerCommands, TriggerRule, TriggerSignal, TriggerUser,
};
