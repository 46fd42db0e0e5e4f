//! The event loop around the state machines.
//!
//! One thread waits (epoll) for connections, messages, packets and the caller's commands. It passes
//! them to the [`Coordinator`](crate::machine::Coordinator) and performs the actions that this
//! returns. In one turn, it reads a bounded amount of data from a provider, so no provider delays
//! the others.
//!
//! | module | subject |
//! |---|---|
//! | `event_loop` | waiting for events, and handling them |
//! | `source` | the sources of events |
//! | `state` | the loop's data |
//! | `packet_limit`, `paused` | connections that send too many packets |
//! | `registration`, `admission`, `rate` | accepting connections and providers, within limits |
//! | `active`, `start`, `pause` | the sessions |
//! | `passing` | collected records, for the sessions |
//! | `connection` | one provider's sockets |
//! | `outbox` | messages that a provider has not read yet |
//! | `retained` | buffers of providers that did not reply to Stop |
//! | `perform` | the coordinator's actions |
//! | `provision` | creation of the providers' buffers |
//! | `streaming`, `shares` | circular buffers that begin to stream, and memory for what sessions retain from then on |
//! | `excess` | sessions that ask for more memory than there is |
//! | `alerts` | the effects of alerts |
//! | `conditions`, `deaths` | the effects of other conditions of triggers |
//! | `rotation` | cutting archives into parts |
//! | `following` | live streams |
//! | `categories` | changing the categories of a session |
//! | `command`, `queries`, `categories_query` | the caller's commands and queries |

mod active;
mod admission;
mod alerts;
mod categories;
mod categories_query;
mod command;
mod conditions;
mod connection;
mod deaths;
mod ending;
mod event_loop;
mod excess;
mod following;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzed;
mod outbox;
mod packet_limit;
mod passing;
mod pause;
mod paused;
mod perform;
mod provision;
mod queries;
mod rate;
mod registration;
mod retained;
mod rotation;
mod shares;
mod source;
mod start;
mod state;
mod streaming;
#[cfg(test)]
mod tests;
mod unregistered;

pub(crate) use command::{Command, Mailbox, SharedProgress, StartRequest};
pub(crate) use rate::UserRates;
pub(crate) use state::EventLoop;
