//! Context switches by `perf_event_open(2)`, for users who may not use tracefs.
//!
//! ```text
//! switches of a CPU ──► ring buffer ──► records ──► records of all CPUs ──► events
//!  (kernel)             (mapped)                    in the order of time
//! ```

mod record;
