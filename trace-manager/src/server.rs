//! The event loop around the state machines.
//!
//! One thread waits (epoll) for connections, messages, packets and commands of the caller, feeds
//! the [`Conductor`](crate::machine::Conductor) and does what it wants done. Whatever a provider
//! sends, only a bounded part is taken in one turn, so none keeps the others waiting.
//!
//! | module | subject |
//! |---|---|
//! | `event_loop` | waiting, and which turn is whose |
//! | `source` | what the loop waits for |
//! | `state` | what the loop looks after |
//! | `intake`, `admission` | whom it takes in, and within which limits |
//! | `active` | the session |
//! | `connection` | one provider's sockets |
//! | `outbox` | messages that a provider has not taken yet |
//! | `kept` | buffers of providers that did not answer |
//! | `perform` | doing what the conductor wants done |
//! | `provision` | giving providers their buffers |
//! | `alarm` | doing what alerts are to do |
//! | `command` | what the caller asks of the loop |

mod active;
mod admission;
mod alarm;
mod command;
mod connection;
mod event_loop;
mod intake;
mod kept;
mod outbox;
mod perform;
mod provision;
mod source;
mod state;

pub(crate) use command::{Command, Mailbox, Shared, StartRequest};
pub(crate) use state::EventLoop;
