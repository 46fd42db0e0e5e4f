//! Triggers of a session: conditions, and the actions that follow if one holds.
//!
//! | module | subject |
//! |---|---|
//! | `condition` | the conditions and their text |
//! | `cause` | the causes of snapshots and of a session's end |
//! | `commands` | the commands of triggers, on a thread of their own |
//! | `rule` | a condition with its actions and limits, and its text |
//! | `duration` | times such as `1.5s` |
//! | `text` | parts of the text of triggers |
//! | `counter`, `log`, `schedule`, `scopes` | evaluation of conditions, without I/O |
//! | `users` | the users whose programs meet conditions |
//! | `names` | the string table of a provider, as far as conditions need it |
//! | `evaluator` | all conditions of a session, and their evaluation over its records |

mod cause;
mod commands;
mod condition;
mod counter;
mod duration;
mod evaluator;
mod log;
mod names;
mod rule;
mod schedule;
mod scopes;
mod text;
mod users;
mod watch;

pub use cause::Cause;
pub use commands::{CommandStopper, TriggerCommands};
pub use condition::{Condition, CounterCondition, DurationCondition, TriggerSignal};
pub use duration::parse_duration;
pub(crate) use evaluator::Evaluator;
pub use log::LogLevel;
pub use rule::{TriggerActions, TriggerRule};
pub use schedule::TimeOfDay;
pub use users::TriggerUser;
pub use watch::DurationWatch;
