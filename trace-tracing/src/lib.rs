//! Records the spans and events of [`tracing`](https://docs.rs/tracing), in two lines.
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
//! [`layer`] stands beside other layers. [`subscriber`] takes the place of the registry in programs
//! in which nothing else listens to `tracing`, and costs a third, or half with two arguments.
//!
//! # What becomes of what
//!
//! | `tracing` | trace |
//! |---|---|
//! | target | category |
//! | a thread enters and exits a span | a duration of that thread, with the name of the span |
//! | an asynchronous span | also a track of its own: its life by the clock on the wall, from the span's creation to its end |
//! | parent | the argument `parent` of the track: the id of the parent's track |
//! | fields of a span | arguments of its first duration and of its track |
//! | `Span::record` later on | an instant with these arguments: on the track, or, if there is none, on the thread |
//! | `follows_from` | an instant on the track, whose argument `follows_from` is the id of the other span's track |
//! | event | an instant of its thread, or, by [`Options::events_as_logs`], a log record |
//!
//! The name of an event is its message, up to 120 bytes; what is longer is whole in the argument
//! `message`. An event without a message has its target for a name, and one that was given a name
//! (`event!(name: "…", …)`) has that.
//!
//! Numbers of up to 64 bits, `bool` and text are arguments of these types; all else is its `Debug`
//! or `Display` text, and an error its message. The first 15 fields are recorded, the message of an
//! event being the first. Texts are cut at 32,000 bytes.
//!
//! # Synchronous and asynchronous spans
//!
//! Most spans are a block or a function: entered once, left, and over. They are one duration, and
//! nothing else. A span is asynchronous if it is entered again, if its thread goes on while it is
//! left and not over, if it ends on another thread, or ends without having been entered: its track
//! is written then, with the time at which the span was created. With it the tracks of its
//! ancestors are, so that the tracks are one tree. Ids of tracks are unique on the machine.
//!
//! So a span that waits to be entered is seen once it is entered, or over, or another span's track
//! or a `follows_from` needs its own; and the track of one that was polled once, once its thread
//! does something else that `tracing` knows of. When a recording ends, all spans that wait have
//! their tracks written (up to 8192 of a layer, beyond which they are seen when they go on). Of a
//! process that is killed they are missing.
//!
//! `Instrument` enters a span once more to drop the future, so that every instrumented future has a
//! track, and a last short duration.
//!
//! Guards may be dropped in any order. A duration inside of one that ends before it is cut in two,
//! since durations of a thread nest. An exit on a thread that has not entered the span has no
//! effect.
//!
//! # Filters, and costs
//!
//! The layer has a per-layer filter, [`Recorded`]: it wants the categories that are being recorded.
//! While nothing is recorded, and no other layer wants it, a span or an event costs one load, and
//! its fields are not formatted. Filters of `tracing` work as with other layers:
//! `layer().with_filter(…)`, a global `EnvFilter`, `release_max_level_*`. When a recording begins
//! or ends, `tracing` is told to ask all layers again, on a thread of the runtime.
//!
//! While recorded, the bridge takes a span's own lock for its fields and its track, and finds its
//! callsite without one, however many there are. Locks that all threads share are taken where a
//! callsite is seen for the first time; for a record of `log` whose target is not among those that
//! the thread used last; and by the subscriber once for 64 spans or more, where a thread begins
//! many more spans than it ends, or ends more than it begins. Memory is allocated as more spans are
//! open, or have longer texts, than ever before, and with the layer for each span beyond some 8192
//! that are open at once.
//!
//! Most of what a span costs with the layer is not the layer's. By `benches/peers` a registry takes
//! 62 ns for a span, one with a per-layer filter 118 ns, one with this layer 192 ns, and
//! tracing-chrome's layer, which has no filter, 411 ns: the layer is 2.1 to 2.5 × cheaper than
//! that, and the subscriber, at 58 ns, 7 ×.
//!
//! There is no layer without a per-layer filter. In a loop of empty spans in which the layer took
//! 182 ns and the subscriber 58 ns, one took 110 ns. But without that filter a layer can leave out
//! what is not recorded only for all layers together: others would see what is recorded, and while
//! nothing is, nothing. If it lets all through instead, every span of the program is made while
//! nothing is recorded, for what a registry takes, and not for one load. Where it is alone, so that
//! the others do not matter, the subscriber does the same for half of it.
//!
//! # Records of `log`
//!
//! With its default feature `tracing-log`, `tracing-subscriber` makes itself the logger of the
//! program, and its `init` sets `log::max_level()` to what the layers want then. Records of `log`
//! are events like others: an instant with the target of the record as category and its message as
//! name, or a log record. Their file, line and module are left out. `log::max_level()` is raised
//! when a recording begins, to what `tracing` wants then, and set back when it ends, unless the
//! application has set it meanwhile. It is not touched where another logger is in place.
//!
//! The crate `trace-log` does the same without `tracing`, and costs less. As there is one logger in
//! a program, `trace_log_bridge::init` after `init` returns an error. It is not needed then; to have it
//! nevertheless, leave the feature `tracing-log` out.
//!
//! With the feature `ntrace` the layer is there and wants nothing.
#![forbid(unsafe_code)]

mod callsite;
mod callsites;
mod event;
mod filter;
mod layer;
mod levels;
mod options;
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
