//! Objects, blobs and profiler records.

use std::fmt::{self, Write};

use data_encoding::HEXLOWER;
use trace_format::layout::{BlobType, ObjectType};
use trace_format::{Backtrace, Blob, Item, KernelObject, LargeBlob, Mmap, Module, UserspaceObject};

use super::{arguments, quoted, text, thread, time};

pub(super) fn blob<'a>(output: &mut dyn Write, item: &Item<'a>, blob: &Blob<'a>) -> fmt::Result {
    output.write_str("blob")?;
    text(output, item, blob.name)?;
    match blob.blob_type {
        BlobType::DATA => output.write_str(" data")?,
        BlobType::LAST_BRANCH => output.write_str(" last-branch")?,
        BlobType::PERFETTO => output.write_str(" perfetto")?,
        other => write!(output, " type {}", other.bits())?,
    }
    write!(output, " {} bytes", blob.payload.len())
}

pub(super) fn large_blob<'a>(
    output: &mut dyn Write,
    item: &Item<'a>,
    blob: &LargeBlob<'a>,
) -> fmt::Result {
    output.write_str("large-blob")?;
    if let Some(event) = &blob.event {
        thread(output, item, event.thread)?;
        time(output, item, event.ticks)?;
    }
    text(output, item, blob.category)?;
    text(output, item, blob.name)?;
    write!(output, " {} bytes", blob.payload.len())?;
    arguments(output, item, &item.record.arguments())
}

pub(super) fn userspace<'a>(
    output: &mut dyn Write,
    item: &Item<'a>,
    object: &UserspaceObject<'a>,
) -> fmt::Result {
    let process = item.process(object.process);
    write!(output, "userspace-object process {process} {:#x}", object.pointer)?;
    text(output, item, object.name)?;
    arguments(output, item, &object.arguments)
}

pub(super) fn kernel<'a>(
    output: &mut dyn Write,
    item: &Item<'a>,
    object: &KernelObject<'a>,
) -> fmt::Result {
    output.write_str("kernel-object")?;
    match object.object_type {
        ObjectType::PROCESS => output.write_str(" process")?,
        ObjectType::THREAD => output.write_str(" thread")?,
        other => write!(output, " type {}", other.bits())?,
    }
    write!(output, " #{}", object.koid)?;
    text(output, item, object.name)?;
    arguments(output, item, &object.arguments)
}

pub(super) fn module(output: &mut dyn Write, item: &Item<'_>, module: &Module<'_>) -> fmt::Result {
    write!(output, "module process {}", item.process(module.process))?;
    time(output, item, module.ticks)?;
    write!(output, " module {}", module.module_id)?;
    quoted(output, &String::from_utf8_lossy(module.name))?;
    write!(output, " build id {}", HEXLOWER.encode_display(module.build_id))
}

pub(super) fn mmap(output: &mut dyn Write, item: &Item<'_>, mmap: &Mmap) -> fmt::Result {
    write!(output, "mmap process {}", item.process(mmap.process))?;
    time(output, item, mmap.ticks)?;
    let Mmap { module_id, flags, start, length, module_address, .. } = mmap;
    write!(
        output,
        " module {module_id} flags {flags} start {start:#x} length {length:#x} \
         module address {module_address:#x}"
    )
}

pub(super) fn backtrace(
    output: &mut dyn Write,
    item: &Item<'_>,
    backtrace: &Backtrace<'_>,
) -> fmt::Result {
    output.write_str("backtrace")?;
    thread(output, item, backtrace.thread)?;
    time(output, item, backtrace.ticks)?;
    backtrace.frames.iter().try_for_each(|frame| write!(output, " {frame:#x}"))
}
