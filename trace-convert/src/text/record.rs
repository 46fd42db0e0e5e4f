//! The fields of each record.

use std::fmt::{self, Display, Write};

use data_encoding::HEXLOWER;
use trace_format::layout::{record, BlobType, InstantScope, ObjectType, ProviderEvent};
use trace_format::notes::SYMBOLS;
use trace_format::{
    Event, EventKind, Item, LegacyContextSwitch, Metadata, Mmap, Record, Thread, ThreadKoids,
};

use crate::symbols::record as symbols;

use super::{arguments, field, koids, seconds_and_nanos, state, time};

/// Writes the fields of a record.
pub(super) fn record(output: &mut dyn Write, item: &Item<'_>) -> fmt::Result {
    let thread = |thread: Thread| koids(item.thread(thread));
    let time = |ticks: u64| time(item.nanos(ticks));
    let arguments = arguments(item);
    match &item.record {
        Record::Metadata(data) => metadata(output, data),
        Record::Initialization { ticks_per_second } => {
            write!(output, "initialization {ticks_per_second} ticks/s")
        }
        Record::String { index, value } => {
            write!(output, "string {index} {:?}", String::from_utf8_lossy(value))
        }
        Record::Thread { index, koids: thread } => {
            write!(output, "thread {index} {}", koids(*thread))
        }
        Record::Event(event) => {
            write_event(output, item, event)?;
            write!(output, "{arguments}")
        }
        Record::Blob(blob) => {
            let (name, size) = (item.text(blob.name), blob.payload.len());
            write!(output, "blob {name:?} {} {size} bytes", blob_type(blob.blob_type))?;
            match (name == SYMBOLS).then(|| symbols::decode(blob.payload)).flatten() {
                Some(names) => write!(output, " {names}"),
                None => Ok(()),
            }
        }
        Record::LargeBlob(blob) => {
            output.write_str("large-blob")?;
            if let Some(event) = &blob.event {
                write!(output, " {} {}", thread(event.thread), time(event.ticks))?;
            }
            let (category, name) = (item.text(blob.category), item.text(blob.name));
            write!(output, " {category:?} {name:?} {} bytes{arguments}", blob.payload.len())
        }
        Record::UserspaceObject(object) => {
            let (process, pointer) = (item.process(object.process), object.pointer);
            let name = item.text(object.name);
            write!(output, "userspace-object process {process} {pointer:#x} {name:?}{arguments}")
        }
        Record::KernelObject(object) => {
            let (kind, koid) = (object_type(object.object_type), object.koid);
            write!(output, "kernel-object {kind} #{koid} {:?}{arguments}", item.text(object.name))
        }
        Record::LegacyContextSwitch(switch) => legacy_context_switch(output, item, switch),
        Record::ContextSwitch(switch) => {
            let (cpu, outgoing, incoming) =
                (switch.cpu, switch.outgoing_thread, switch.incoming_thread);
            let (time, state) = (time(switch.ticks), state(switch.outgoing_state));
            write!(output, "context-switch cpu {cpu} {time} from #{outgoing} {state} ")?;
            write!(output, "to #{incoming}{arguments}")
        }
        Record::ThreadWakeup(wakeup) => {
            let (cpu, thread, time) = (wakeup.cpu, wakeup.thread, time(wakeup.ticks));
            write!(output, "thread-wakeup cpu {cpu} {time} #{thread}{arguments}")
        }
        Record::Log(log) => {
            let (thread, time) = (thread(log.thread), time(log.ticks));
            write!(output, "log {thread} {time} {:?}", String::from_utf8_lossy(log.message))
        }
        Record::Module(module) => {
            let (process, time) = (item.process(module.process), time(module.ticks));
            let (id, name) = (module.module_id, String::from_utf8_lossy(module.name));
            write!(output, "module process {process} {time} module {id} {name:?} ")?;
            write!(output, "build id {}", HEXLOWER.encode_display(module.build_id))
        }
        Record::Mmap(mmap) => {
            let (process, time) = (item.process(mmap.process), time(mmap.ticks));
            let Mmap { module_id, flags, start, length, module_address, .. } = mmap;
            write!(output, "mmap process {process} {time} module {module_id} flags {flags} ")?;
            write!(output, "start {start:#x} length {length:#x} ")?;
            write!(output, "module address {module_address:#x}")
        }
        Record::Backtrace(backtrace) => {
            write!(output, "backtrace {} {}", thread(backtrace.thread), time(backtrace.ticks))?;
            backtrace.frames.iter().try_for_each(|frame| write!(output, " {frame:#x}"))
        }
        Record::Unknown(unknown) => {
            let record_type = record::Type::get(unknown.header);
            let (header, bytes) = (unknown.header, unknown.payload.len());
            write!(output, "unknown type {record_type} header {header:#018x} and {bytes} bytes")
        }
    }
}

fn metadata(output: &mut dyn Write, metadata: &Metadata<'_>) -> fmt::Result {
    match metadata {
        Metadata::MagicNumber => write!(output, "magic-number"),
        Metadata::ProviderInfo { id, name } => {
            write!(output, "provider-info {id} {:?}", String::from_utf8_lossy(name))
        }
        Metadata::ProviderSection { id } => write!(output, "provider-section {id}"),
        Metadata::ProviderEvent { id, event: ProviderEvent::BUFFER_FULL } => {
            write!(output, "provider-event {id} buffer-full")
        }
        Metadata::ProviderEvent { id, event } => {
            write!(output, "provider-event {id} event {}", event.bits())
        }
    }
}

/// Writes an event without its arguments.
fn write_event(output: &mut dyn Write, item: &Item<'_>, event: &Event<'_>) -> fmt::Result {
    // Most records are events: `koids` and `time` would cost two more calls of `fmt::write`.
    let ThreadKoids { process, thread } = item.thread(event.thread);
    let (seconds, nanos) = seconds_and_nanos(item.nanos(event.ticks));
    let (category, name) = (item.text(event.category), item.text(event.name));
    write!(output, "{} {process}/{thread} {seconds}.{nanos:09}s ", event.kind.name())?;
    write!(output, "{category:?} {name:?}")?;
    if let Some(id) = event.kind.id() {
        write!(output, " id {id} ({id:#x})")?;
    }
    match event.kind {
        EventKind::DurationComplete { end } => {
            match item.nanos(end).checked_sub(item.nanos(event.ticks)) {
                Some(nanos) => write!(output, " {nanos}ns"),
                None => write!(output, " ends before its start, at tick {end}"),
            }
        }
        EventKind::Instant { scope: Some(scope) } => output.write_str(match scope {
            InstantScope::Thread => " thread",
            InstantScope::Process => " process",
            InstantScope::Global => " global",
        }),
        _ => Ok(()),
    }
}

fn legacy_context_switch(
    output: &mut dyn Write,
    item: &Item<'_>,
    switch: &LegacyContextSwitch,
) -> fmt::Result {
    let LegacyContextSwitch { cpu, outgoing_priority, incoming_priority, .. } = switch;
    let thread = |thread| koids(item.thread(thread));
    let (outgoing, incoming) = (thread(switch.outgoing), thread(switch.incoming));
    let (time, state) = (time(item.nanos(switch.ticks)), state(switch.outgoing_state));
    write!(output, "context-switch cpu {cpu} {time} from {outgoing} {state} ")?;
    write!(output, "priority {outgoing_priority} to {incoming} priority {incoming_priority}")
}

fn blob_type(blob_type: BlobType) -> impl Display {
    field(move |f| match blob_type {
        BlobType::DATA => f.write_str("data"),
        BlobType::LAST_BRANCH => f.write_str("last-branch"),
        BlobType::PERFETTO => f.write_str("perfetto"),
        other => write!(f, "type {}", other.bits()),
    })
}

fn object_type(object_type: ObjectType) -> impl Display {
    field(move |f| match object_type {
        ObjectType::PROCESS => f.write_str("process"),
        ObjectType::THREAD => f.write_str("thread"),
        other => write!(f, "type {}", other.bits()),
    })
}
