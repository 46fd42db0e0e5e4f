//! Producer and consumer of the shared buffer together: what is committed is collected, once,
//! whatever happens.
#![cfg(not(loom))]
#![allow(unreachable_pub, missing_docs)]

mod counting;
mod functions;
mod harness;
mod hostile;
mod live;
mod modes;
mod saved;
mod scopes;
mod streaming;
mod threads;
