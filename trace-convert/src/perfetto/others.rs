//! Records that are neither events nor of the scheduler.

use trace_format::layout::{cut_str, BlobType, ObjectType, ProviderEvent};
use trace_format::{
    Backtrace, Blob, Item, KernelObject, LargeBlob, Log, Mmap, Module, Process, ThreadKoids,
    UserspaceObject, Value,
};

use super::annotations::{addresses, bytes, hex, number, pointer, string, strings};
use super::exporter::PerfettoExporter;
use super::message::{Kind, LogMessage};
use super::tracks::{Uuid, ROOT};
use trace_analyze::arguments;
use trace_analyze::carried::{ADDED, EVENT, SHOWN};

/// How much of a log message names its instant, in bytes.
const MAX_LOG_NAME_BYTES: usize = 100;

impl PerfettoExporter {
    pub(super) fn log(&mut self, item: &Item<'_>, log: &Log<'_>) {
        let message = String::from_utf8_lossy(log.message);
        let name = cut_str(message.lines().next().unwrap_or(""), MAX_LOG_NAME_BYTES);
        let track = self.tracks.thread(item.thread(log.thread));
        let mut made = self.note(track, "log", name);
        made.debug_annotations = vec![string("message", &*message)];
        let body_iid = Some(self.packets.log_message(message.into_owned()));
        made.log_message = Some(LogMessage { body_iid });
        self.timed(item.nanos(log.ticks), made);
    }

    pub(super) fn provider_event(&mut self, id: u32, event: ProviderEvent) {
        let name = match event == ProviderEvent::BUFFER_FULL {
            true => "buffer full",
            false => "provider event",
        };
        let track = self.tracks.named(&mut self.packets, ROOT, "lost records");
        let mut made = self.note(track, "trace", name);
        made.debug_annotations = vec![number("provider", id.into()), number("event", event.bits())];
        self.untimed(made);
    }

    pub(super) fn kernel_object<'a>(&mut self, item: &Item<'a>, object: &KernelObject<'a>) {
        let koid = object.koid;
        let name = item.text(object.name);
        match object.object_type {
            // Their names are those that the catalog has at the end.
            ObjectType::PROCESS => {
                self.tracks.process(koid);
            }
            ObjectType::THREAD => {
                self.comms.insert(koid, (*name).into());
                if let Some(process) = arguments::process_of(item, object) {
                    self.tracks.thread(ThreadKoids::new(process, koid));
                }
            }
            kind => {
                let track = self.tracks.named(&mut self.packets, ROOT, "objects");
                let mut made = self.note(track, "object", name);
                made.debug_annotations = self.annotations(item, &object.arguments);
                made.debug_annotations.extend([number("koid", koid), number("type", kind.bits())]);
                self.untimed(made);
            }
        }
    }

    pub(super) fn userspace_object<'a>(&mut self, item: &Item<'a>, object: &UserspaceObject<'a>) {
        let track = self.in_process(item, object.process, "objects");
        let mut made = self.note(track, "object", item.text(object.name));
        made.debug_annotations = self.annotations(item, &object.arguments);
        made.debug_annotations.push(pointer("pointer", object.pointer));
        self.untimed(made);
    }

    pub(super) fn blob<'a>(&mut self, item: &Item<'a>, blob: &Blob<'a>) {
        let name = item.text(blob.name);
        match &*name {
            ADDED | SHOWN => return,
            EVENT if self.tracks.hints.take(blob.payload) => return,
            _ => {}
        }
        if blob.blob_type != BlobType::PERFETTO {
            return self.bytes(&name, blob.blob_type, blob.payload);
        }
        match self.embedded.push(item.provider.id(), blob.payload) {
            Ok(packets) => self.packets.pass_on(&packets),
            Err(bytes) => self.bytes(&name, blob.blob_type, &bytes),
        }
    }

    /// Shows the bytes of a blob.
    pub(super) fn bytes(&mut self, name: &str, blob_type: BlobType, payload: &[u8]) {
        let track = self.tracks.named(&mut self.packets, ROOT, "blobs");
        let mut made = self.note(track, "blob", name);
        made.debug_annotations = vec![number("type", blob_type.bits())];
        made.debug_annotations.extend(bytes(payload));
        self.untimed(made);
    }

    pub(super) fn large_blob<'a>(&mut self, item: &Item<'a>, blob: &LargeBlob<'a>) {
        let track = match &blob.event {
            Some(event) => self.tracks.thread(item.thread(event.thread)),
            None => self.tracks.named(&mut self.packets, ROOT, "blobs"),
        };
        let mut made = self.labelled(item, (Kind::Instant, track), (blob.category, blob.name));
        if let Some(event) = &blob.event {
            made.debug_annotations = self.annotations(item, &event.arguments);
        }
        made.debug_annotations.extend(bytes(blob.payload));
        match &blob.event {
            Some(event) => self.timed(item.nanos(event.ticks), made),
            None => self.untimed(made),
        }
    }

    pub(super) fn module(&mut self, item: &Item<'_>, module: &Module<'_>) {
        let track = self.in_process(item, module.process, "modules");
        let name = String::from_utf8_lossy(module.name);
        let mut made = self.note(track, "profiler", name);
        made.debug_annotations = vec![
            number("module", module.module_id.into()),
            string("build id", hex(module.build_id)),
        ];
        self.timed(item.nanos(module.ticks), made);
    }

    pub(super) fn mmap(&mut self, item: &Item<'_>, mmap: &Mmap) {
        let track = self.in_process(item, mmap.process, "modules");
        let mut made = self.note(track, "profiler", "mmap");
        made.debug_annotations = vec![
            number("module", mmap.module_id.into()),
            number("flags", mmap.flags.into()),
            pointer("start", mmap.start),
            pointer("length", mmap.length),
            pointer("module address", mmap.module_address),
        ];
        self.timed(item.nanos(mmap.ticks), made);
    }

    pub(super) fn backtrace(&mut self, item: &Item<'_>, backtrace: &Backtrace<'_>) {
        let track = self.tracks.thread(item.thread(backtrace.thread));
        let mut made = self.note(track, "profiler", "backtrace");
        made.debug_annotations = vec![addresses("frames", backtrace.frames.iter())];
        let name = |frame| self.objects.name(item, Value::Pointer(frame));
        if backtrace.frames.iter().any(|frame| name(frame).is_some()) {
            let symbols = backtrace.frames.iter().map(|frame| name(frame).unwrap_or_default());
            made.debug_annotations.push(strings("symbols", symbols));
        }
        self.timed(item.nanos(backtrace.ticks), made);
    }

    fn in_process(&mut self, item: &Item<'_>, process: Process, name: &'static str) -> Uuid {
        let process = self.tracks.process(item.process(process));
        self.tracks.named(&mut self.packets, process, name)
    }
}
