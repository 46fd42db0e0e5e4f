//! The event loop around the state machines.
//!
//! One thread waits (epoll) for connections, messages, packets and commands of the caller, feeds
//! the [`Coordinator`](crate::machine::Coordinator) and does what it wants done. Whatever a provider
//! sends, only a bounded part is taken in one turn, so none keeps the others waiting.
//!
//! | module | subject |
//! |---|---|
//! | `event_loop` | waiting, and which turn is whose |
//! | `source` | what the loop waits for |
//! | `state` | what the loop looks after |
//! | `registration`, `admission` | whom it takes in, and within which limits |
//! | `active` | the session |
//! | `connection` | one provider's sockets |
//! | `outbox` | messages that a provider has not taken yet |
//! | `retained` | buffers of providers that did not answer |
//! | `perform` | doing what the coordinator wants done |
//! | `provision` | giving providers their buffers |
//! | `alerts` | doing what alerts are to do |
//! | `command` | what the caller asks of the loop |

mod active;
mod admission;
mod alerts;
mod command;
mod connection;
mod event_loop;
mod outbox;
mod perform;
mod provision;
mod registration;
mod retained;
mod source;
mod state;

pub(crate) use command::{Command, Mailbox, SharedProgress, StartRequest};
pub(crate) use state::EventLoop;
