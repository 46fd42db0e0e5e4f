//! Records spans and events of [`tracing`](https://docs.rs/tracing), in two lines.
//!
//! ```
//! use tracing_subscriber::prelude::*;
//!
//! fn main() {
//!     tracing_subscriber::registry().with(trace_tracing::layer()).init();
//!     let _trace = trace_runtime::init();
//!     work(3);
//! }
//!
//! #[tracing::instrument]
//! fn work(rounds: u64) {
//!     tracing::info!(rounds, "started");
//! }
//! ```
//!
//! [`layer`] works beside other layers. Without other listeners of `tracing`, [`subscriber`]
//! replaces the registry, and costs a third of the layer, or half with two arguments.
//!
//! # Mapping
//!
//! | `tracing` | trace |
//! |---|---|
//! | target | category |
//! | span, while a thread is in it | a duration of that thread, with the name of the span |
//! | asynchronous span | also a track: its wall-clock time, from the span's creation to its end |
//! | parent | the argument `parent` of the track: the id of the parent's track |
//! | fields of a span | arguments of its first duration and of its track |
//! | `Span::record` later on | an instant with these arguments: on the track, or, if there is none, on the thread |
//! | `follows_from` | an instant on the track, whose argument `follows_from` is the id of the other span's track |
//! | event | an instant of its thread, or, by [`Options::events_as_logs`], a log record |
//! | name of an event (`event!(name: "…", …)`) | name |
//! | event without a name | its call site as name: `src/main.rs:7` |
//! | message of an event | the argument `message` |
//! | level, file and line of an event | arguments |
//! | number of up to 64 bits, `bool`, text | argument of that type |
//! | error | its message, as text |
//! | any other value | its `Debug` or `Display` text |
//!
//! The first 15 fields of a span are recorded, and 12 of an event, of which the message is the
//! first. Texts are cut at 32,000 bytes.
//!
//! Events of one call site have one name, so that they are one row of `trace stats`. `trace dump
//! --level warn` prints events of a level.
//!
//! # Synchronous and asynchronous spans
//!
//! Most spans are a block or a function: entered once, exited and closed. Such a span is one
//! duration. A span is asynchronous if one of these is true:
//!
//! - it is entered a second time;
//! - its thread continues after an exit, and the span is not closed;
//! - it is closed on another thread;
//! - it is closed without having been entered;
//! - a span of the same call site was asynchronous before.
//!
//! Its track is written then, with the time at which the span was created. The tracks of its
//! ancestors are written with it, so that the tracks are one tree. That does not make other spans
//! of the ancestors' call sites asynchronous. Ids of tracks are unique on the machine.
//!
//! A span that waits to be entered is therefore visible once it is entered or closed, or once
//! another span's track or a `follows_from` refers to it. The track of a span that was polled once
//! is visible once its thread does something else that `tracing` reports. When a recording ends,
//! the tracks of all waiting spans are written. They are missing if the process is killed.
//!
//! # Operations and polls
//!
//! An asynchronous span is an operation, and each time that a thread is in it is a poll. A poll's
//! duration has the arguments `task`, the id of the track, and `poll-count`, its number. The first
//! poll of a span that is not known to be asynchronous has none: an instant of the track at its
//! begin (a mark, with `poll-count`) connects them. The end of the track has the number of polls.
//!
//! `Instrument` enters a span once more to drop the future. That is no poll: a mark with the
//! `poll-state` `dropped` is at its begin, and `trace stats` counts it separately. A layer gets the
//! same calls from `Instrument` and from code that enters the span itself: enter, exit, close. If
//! such code enters a span more than once, and no other call of `tracing` is between the last exit
//! and the close, its last entry counts as a drop. `TraceLayer` of `tower-http` is an example: it
//! enters the span for each poll, but not to drop the response. Its last poll counts as a drop, and
//! the sum of polls and drops is the number of entries.
//!
//! A condition on durations (`trace record --trigger`) counts the operation, and not its polls,
//! once the span is known to be asynchronous.
//!
//! Spans and traced futures of `trace-runtime` are one tree: a future that begins in a span is a
//! child of the span, whose track is written then, and a span that is created in a future is a
//! child of the future. A process can have 1024 layers, dropped ones included, whose spans are
//! parents of futures.
//!
//! Guards can be dropped in any order. Because durations of a thread nest, a duration inside of one
//! that ends earlier is cut in two. An exit on a thread that has not entered the span is ignored.
//!
//! # Filters and costs
//!
//! The layer has a per-layer filter, [`Recorded`], which enables the recorded categories. Without a
//! recording, and if no other layer is interested, a span or an event costs one load, and its
//! fields are not formatted. Filters of `tracing` work as with other layers:
//! `layer().with_filter(…)`, a global `EnvFilter`, `release_max_level_*`. When a recording begins
//! or ends, a thread of the runtime makes `tracing` query all layers again.
//!
//! During a recording, the bridge takes a span's own lock for its fields and its track, and finds
//! the callsite and the layer without a lock. Locks that all threads share are taken
//!
//! - at the first use of a callsite, or of a target of `log`;
//! - by the subscriber, once for 64 spans or more, if a thread begins many more spans than it ends,
//!   or the reverse.
//!
//! Memory is allocated if more spans are open than ever before, or have longer texts. Spans beyond
//! some million open ones are not recorded.
//!
//! Most of a span's cost with the layer is the registry's (`benches/peers`, minima):
//!
//! | listener | span, ns |
//! |---|---|
//! | registry | 62 |
//! | registry with a per-layer filter | 118 |
//! | registry with this layer | 192 |
//! | registry with tracing-chrome's layer, which has no filter | 411 |
//! | [`subscriber`], without a registry | 58 |
//!
//! | in a loop of empty spans | span, ns |
//! |---|---|
//! | this layer | 182 |
//! | this layer without its filter | 110 |
//! | [`subscriber`] | 58 |
//!
//! The filter is worth its cost. Without a per-layer filter, a layer can disable spans only for all
//! layers together, so other layers would receive exactly the recorded spans. If it enabled all
//! spans instead, each would cost as much as the registry takes, also without a recording, instead
//! of one load. A program without other layers can use the subscriber, for half of that cost.
//!
//! # Signal handlers
//!
//! A signal handler that uses `tracing` while it interrupts the bridge does not wait for a lock
//! that its thread holds. It waits for other threads' locks only if its thread holds none.
//!
//! | the thread is interrupted | effect |
//! |---|---|
//! | while it reads or writes the values of a span | values that the handler records for this span are an instant, and not arguments of its track; a duration or track of the span that the handler begins has no arguments |
//! | at the first use of a callsite | events and spans of other new callsites are not recorded |
//! | at the first use of a callsite, or while it names a thread or track | a callsite that the handler uses first is recorded within a tenth of a second |
//! | while it exchanges free slots with other threads | one of a million slots of the subscriber is unused from then on, if the handler closes a span |
//! | inside a record | the record of the handler is dropped and counted |
//!
//! The bridge, like `tracing`, may allocate: a handler must not interrupt the allocator.
//!
//! # Messages of `log`
//!
//! With its default feature `tracing-log`, `tracing-subscriber` becomes the logger of the program,
//! and its `init` sets `log::max_level()` to the level that the layers enable then. Messages of
//! `log` are events like others: an instant with the message's target as category and its file and
//! line as name, or a log record. The module is not recorded. `log::max_level()` is raised
//! when a recording begins, to the level that `tracing` enables then, and restored when it ends,
//! unless the application has set it meanwhile. It is unchanged if another logger is installed.
//!
//! The crate `trace-log-bridge` does the same without `tracing`, and costs less. A program has one
//! logger, so `trace_log_bridge::init` after `init` returns an error. To use it nevertheless,
//! disable the feature `tracing-log`.
//!
//! With the feature `ntrace` the layer exists, and enables no spans or events.
#![forbid(unsafe_code)]

mod callsite;
mod callsites;
mod event;
mod filter;
mod layer;
mod levels;
mod options;
mod poll;
mod session;
mod slot;
mod slot_table;
mod spans;
mod subscriber;
mod targets;
mod thread;
mod values;
mod watch;

pub use filter::Recorded;
pub use layer::{FilteredLayer, TraceLayer};
pub use options::{layer, subscriber, Options};
pub use subscriber::TraceSubscriber;
