//! Queries on several machines, with [Apache DataFusion
//! Ballista](https://datafusion.apache.org/ballista/).
//!
//! ```text
//! trace query --cluster ──plan──► scheduler ◄──tasks── executor ◄──rows──► executor …
//!          ▲                                             │  ▲
//!          └──────────────────── result ─────────────────┘  └── files of the store
//! ```
//!
//! A query is planned where it is written, as without a cluster, so that it has the same tables,
//! views and functions and sees the store at one change. The plan names the files that it reads.
//! The scheduler divides it into stages and those into tasks. Executors ask it for tasks, read the
//! files and exchange rows.
//!
//! - `query` sends the plans of a session to a scheduler.
//! - `scheduler` and `executor` are the processes of a cluster.
//! - `engine` runs tasks, and `fence` ends an executor that others may replace.
//! - `codec` writes the functions of traces in plans.
//! - `stores` opens the stores that plans name.
//! - `address` has the addresses of the processes, and asks whether a cluster is ready.
//! - `logging` prints the messages of Ballista.

mod address;
mod codec;
mod engine;
mod executor;
mod fence;
mod logging;
mod query;
mod scheduler;
mod stores;

pub(crate) use executor::run as run_executor;
pub(crate) use query::attach;
pub(crate) use scheduler::run as run_scheduler;

/// The largest message in bytes. Plans have the names of the files that they read.
const MESSAGE_BYTES: u32 = 256 << 20;
