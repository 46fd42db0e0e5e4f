//! Chrome's JSON, the Trace Event Format.
//!
//! # Records
//!
//! | FXT                         | JSON                                                   |
//! |-----------------------------|--------------------------------------------------------|
//! | time                        | `ts` and `dur` in microseconds, exact to the nanosecond |
//! | process and thread koid     | `pid` and `tid`: a number up to 2^32 - 1, else `"0x..."`; of an application's tracks the low 32 bits |
//! | instant                     | `i` with `s`: `t`, `p` or `g`                          |
//! | counter                     | `C`, `id` if it is not 0, only arguments that are numbers |
//! | duration begin, end         | `B`, `E`; an `E` at the time of its thread's last `B` is one nanosecond later, as are later events of the thread at that time |
//! | duration complete           | `X` with `dur`                                         |
//! | async begin, instant, end   | `b`, `n`, `e`, `id2` with `local`, a string `"0x..."`: ids are of the process |
//! | flow begin, step, end       | `s`, `t`, `f`, `id` as a string; `t` and `f` with `"bp":"e"` |
//! | kernel object: process      | `M` `process_name`                                     |
//! | kernel object: thread       | `M` `thread_name`, `pid` from the argument `process`, else in each process that has the thread |
//! | other kernel object         | `M` `kernel_object`                                    |
//! | userspace object            | `O`, the pointer as `id`                               |
//! | log                         | `i` `log` of the category `log`, argument `message`    |
//! | provider event              | `i` of the category `trace`                            |
//! | blob, large blob without time | `M` `blob`, the bytes in base64                      |
//! | large blob                  | `i`, the bytes in base64 as argument `blob`            |
//! | context switch              | a line of ftrace in `systemTraceEvents`; `X` of the category `sched` from one to the next, on a thread for each CPU |
//! | wakeup                      | such lines; and `i` there                              |
//! | module, mapping, backtrace  | `i` of the category `profiler`; a backtrace with `stack`, the outermost frame first: functions, inlined ones too, or addresses |
//! | names of functions          | those of backtraces                                    |
//! | string, thread, initialization, other metadata | resolved in the records that refer to them |
//! | unknown, malformed          | nothing, counted                                       |
//!
//! A thread that runs on a CPU at the end of the archive is a `B` without an end. A turn whose end
//! is missing is an `i`. A context switch with arguments other than weights is also an `i` with all
//! of them. The events on CPUs are for viewers that do not read `systemTraceEvents`; other viewers
//! show both. They belong to a process `CPUs`, have a member `tef:added`, and are not converted
//! back to durations of FXT.
//!
//! If a `B` and an `E` have the same time, Perfetto reads the `E` first, and the duration would
//! never end. Therefore the `E` is written one nanosecond later.
//!
//! An event of a record without a time has the time of the record before. Split blobs are joined
//! into one event.
//!
//! | argument                    | JSON                                                   |
//! |-----------------------------|--------------------------------------------------------|
//! | null, bool                  | `null`, `true`, `false`                                |
//! | integer                     | a number up to 2^53 - 1 either side of 0, else a string |
//! | integer of a counter        | a number                                               |
//! | ticks, `from`, `to` of the tracing system's own events | nanoseconds                 |
//! | double                      | a number; `"NaN"`, `"Infinity"`, `"-Infinity"`         |
//! | string                      | a string; U+FFFD for invalid UTF-8                     |
//! | pointer                     | `"0x..."`; of an object of its process `{"id_ref":"0x..."}` |
//! | koid                        | `"#..."`, decimal; of an object that is no process or thread `{"id_ref":"#..."}` |
//! | blob                        | a string, base64                                       |
//!
//! An archive that [`tef::to_fxt`](crate::tef::to_fxt) made of a JSON document is converted to that
//! document again.
//!
//! If an event has a key twice, the second one is written with the suffix `#2`.
//!
//! Numbers beyond 2^53 are written as strings because JavaScript, and with it most viewers, would
//! round them.

mod arguments;
mod begins;
mod documents;
mod event;
mod exporter;
mod json;
mod log;
mod object;
mod profiler;
mod restore;
mod scheduling;
mod spool;
mod system;
#[cfg(test)]
mod tests;

use std::io::{Read, Write};

use trace_format::Reader;

use crate::export::export;
use crate::{Conversion, ConvertError, Symbols};
use exporter::JsonExporter;

/// Converts an archive to one JSON object.
///
/// Malformed records are skipped. If the archive is cut, the JSON is completed with the records
/// before the cut. The output is written in large pieces and flushed at the end. The functions of
/// samples have the names that are in the archive.
///
/// # Errors
///
/// The input is not an archive, or reading or writing failed. The output is then not valid JSON.
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
    export(reader, JsonExporter::new(symbols), output)
}
