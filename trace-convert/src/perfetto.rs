//! Perfetto's native format, a protobuf.
//!
//! Perfetto reads archives, but ignores logs, losses, blobs, objects, the scope of instants and the
//! upper half of koids. Its native format can express all of them.
//!
//! # Records
//!
//! | FXT                         | Perfetto                                               |
//! |-----------------------------|--------------------------------------------------------|
//! | time                        | nanoseconds of the provider's clock, as boot time      |
//! | process and thread koid     | process and thread with that number, up to 2^31 - 1    |
//! | other koid of a thread, such as an application's track | a track of its name below its process |
//! | other koid of a process     | a track, the parent of its threads' tracks             |
//! | instant                     | an instant on its thread, or on the track `process events` of its process, or `global events` |
//! | counter                     | a counter of the process for each argument that is a number, `name:argument:id` |
//! | duration begin, end         | the same; an end closes the innermost begin of its category and name, either of which may be empty |
//! | duration complete           | both; on a track `overlapping` below its thread if it overlaps others |
//! | async begin, instant, end   | slice and instants on a track for the operation below the process, with `async id`; an argument `parent` is the id of the parent track's operation |
//! | flow begin, step, end       | a flow of this category, name and id, at the slice of the thread; with arguments also an instant on the track `flow events` of its process |
//! | kernel object: process, thread | names; the last one is used                          |
//! | other kernel object         | an instant on the track `objects`                      |
//! | userspace object            | an instant on the track `objects` of its process, with `pointer` |
//! | log                         | an instant of the category `log` on its thread, named by its first line, and a row of the log |
//! | loss (event `records dropped`) | the instant, and a slice over its time on the track `lost records` of its process |
//! | provider event              | an instant on the track `lost records`                 |
//! | blob of Perfetto's packets  | these packets; blobs of one provider are one stream    |
//! | other blob, large blob without time | an instant on the track `blobs`                |
//! | large blob                  | an instant on its thread                               |
//! | context switch, wakeup      | events of the scheduler, with priorities or weights; instants on CPUs from 1024 on, which Perfetto refuses |
//! | module, mapping             | an instant on the track `modules` of its process       |
//! | backtrace                   | a sample of its thread, with mappings, functions, source files and lines; inlined functions are frames. An instant with the addresses if Perfetto cannot express the koids as ids |
//! | names of functions          | those of samples                                       |
//! | clock anchor                | the instant, and for the first one the time of day     |
//! | string, thread, initialization, other metadata | resolved in the records that refer to them |
//! | unknown, malformed          | nothing, counted                                       |
//!
//! `process_labels` and sort indices of a document of the Trace Event Format are written, too. A
//! flow end without `bp` binds to the slice that begins next.
//!
//! An event of a record without a time has the time of the record before, or of the first record
//! that has a time.
//!
//! | argument                    | Perfetto                                               |
//! |-----------------------------|--------------------------------------------------------|
//! | null, double that is not finite | a string: `null`, `NaN`, `inf`, `-inf`             |
//! | bool, integer, koid, double | the same; integers above 2^63 - 1, which it would show as negative, are strings |
//! | string                      | a string; U+FFFD for invalid UTF-8                     |
//! | pointer                     | a pointer                                              |
//! | blob                        | a string of hexadecimal digits                         |
//! | pointer or koid of an object | also the object's name, as `ARGUMENT name`            |
//!
//! Split blobs are joined. Bytes beyond 16 MiB of a blob are omitted; `size` is the full size.

mod annotations;
mod embedded;
mod event;
mod exporter;
mod hints;
mod instants;
mod lanes;
mod message;
mod operation;
mod operations;
mod packets;
mod samples;
mod scheduling;
#[cfg(test)]
mod tests;
mod tracks;

use std::io::{Read, Write};

use trace_format::Reader;

use crate::export::export;
use crate::{Conversion, ConvertError, Symbols};
use exporter::PerfettoExporter;

/// Converts an archive to a trace in Perfetto's format.
///
/// Malformed records are skipped. If the archive is cut, the trace has the records before the cut.
/// The output is written in large pieces and flushed at the end. Memory grows with the number of
/// distinct strings, processes, threads and counters. The functions of samples have the names that
/// are in the archive.
///
/// # Errors
///
/// The input is not an archive, or reading or writing failed.
pub fn write<R: Read, W: Write>(reader: Reader<R>, output: W) -> Result<Conversion, ConvertError> {
    write_with_symbols(reader, Symbols::of_archive(), output)
}

/// Converts an archive as [`write()`] does. `symbols` has further names of functions.
///
/// # Errors
///
/// The same.
pub fn write_with_symbols<R: Read, W: Write>(
    reader: Reader<R>,
    symbols: Symbols,
    output: W,
) -> Result<Conversion, ConvertError> {
    export(reader, PerfettoExporter::new(symbols), output)
}
