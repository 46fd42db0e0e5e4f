//! Perfetto's own format, protobuf.
//!
//! Perfetto reads archives as they are, but leaves out what it has no place
//! for there: logs, losses, blobs, objects, the scope of instants, the upper
//! half of koids. In its own format there is a place for all of it.
//!
//! # What becomes of each record
//!
//! | FXT                         | Perfetto                                               |
//! |-----------------------------|--------------------------------------------------------|
//! | time                        | nanoseconds of the provider's clock, as boot time      |
//! | process and thread koid     | process and thread with that number, up to 2^31 - 1    |
//! | other koid of a thread, as of a track of an application | a track of its name below its process |
//! | other koid of a process     | a track that holds those of its threads                |
//! | instant                     | an instant on its thread, or on the track `process events` of its process, or `global events` |
//! | counter                     | a counter of the process for each argument that is a number, `name:argument:id` |
//! | duration begin, end         | the same; an end belongs to the innermost begin of its category and name, of which either may be empty |
//! | duration complete           | both; those that overlap others of their thread on a track `overlapping` below it |
//! | async begin, instant, end   | slice and instants on a track of their own below the process, with `async id`; with an argument `parent` below the track of the operation with that id |
//! | flow begin, step, end       | a flow of this category, name and id, at the slice of the thread; with arguments also an instant on the track `flow events` of its process |
//! | kernel object: process, thread | names; the last one counts                           |
//! | other kernel object         | an instant on the track `objects`                      |
//! | userspace object            | an instant on the track `objects` of its process, with `pointer` |
//! | log                         | an instant of the category `log` on its thread, named by its first line, and a row of the log |
//! | loss (event `records dropped`) | the instant that it is, and a slice over its time on the track `lost records` of its process |
//! | provider event              | an instant on the track `lost records`                 |
//! | blob of Perfetto's packets  | these packets; blobs of one provider are one stream    |
//! | other blob, large blob without time | an instant on the track `blobs`                |
//! | large blob                  | an instant on its thread                               |
//! | context switch, wakeup      | events of the scheduler, with priorities or weights; on CPUs from 1024 on, which Perfetto refuses, instants |
//! | module, mapping             | an instant on the track `modules` of its process       |
//! | backtrace                   | an instant on its thread with the addresses, innermost first, and the names of the objects there as `symbols` |
//! | clock anchor                | besides the instant, for the first one, the time of day |
//! | string, thread, initialization, other metadata | only what other records need of them |
//! | unknown, malformed          | nothing, counted                                       |
//!
//! Of a document of the Trace Event Format, `process_labels` and sort indices reach Perfetto too,
//! and a flow end without `bp` leads to the slice that begins next.
//!
//! Records without a time that need one have that of the record before, or of
//! the first that has one.
//!
//! | argument                    | Perfetto                                               |
//! |-----------------------------|--------------------------------------------------------|
//! | null, double that is no finite number | a string: `null`, `NaN`, `inf`, `-inf`       |
//! | bool, integer, koid, double | the same; integers beyond 2^63 - 1, which it would show as negative, are strings |
//! | string                      | a string; U+FFFD for what is not UTF-8                 |
//! | pointer                     | a pointer                                              |
//! | blob                        | a string of hexadecimal digits                         |
//! | pointer or koid of an object | besides, as `ARGUMENT name`, the object's name        |
//!
//! Blobs that were split are one. Bytes beyond 16 MiB of one blob are left out: `size` says how
//! many there are.

mod annotations;
mod embedded;
mod event;
mod exporter;
mod hints;
mod lanes;
mod message;
mod operation;
mod operations;
mod others;
mod packets;
mod scheduling;
#[cfg(test)]
mod tests;
mod tracks;

use std::io::{Read, Write};

use trace_format::Reader;

use crate::export::export;
use crate::{Conversion, ConvertError};
use exporter::PerfettoExporter;

/// Writes all that `reader` reads to `output` as a trace of Perfetto's.
///
/// Bad records are left out. Where the archive breaks off, the trace is what
/// was read until then. It is written in large pieces and flushed at the end.
/// Memory grows with the number of different strings, processes, threads and
/// counters.
///
/// # Errors
///
/// The input is not an archive, or reading or writing failed.
pub fn write<R: Read, W: Write>(reader: Reader<R>, output: W) -> Result<Conversion, ConvertError> {
    export(reader, PerfettoExporter::default(), output)
}
