//! Records that become instants: logs, objects, blobs, provider events and profiler records.

use data_encoding::HEXLOWER;
use trace_format::layout::{cut_str, BlobType, ObjectType, ProviderEvent};
use trace_format::notes::SYMBOLS;
use trace_format::{
    Backtrace, Blob, Item, KernelObject, LargeBlob, Log, Mmap, Module, Process, ThreadKoids,
    UserspaceObject, Value,
};

use super::annotations::{addresses, bytes, number, pointer, string, strings};
use super::exporter::PerfettoExporter;
use super::message::{Kind, LogMessage};
use super::samples::Sample;
use super::tracks::{ids, Uuid, ROOT};
use trace_analyze::arguments;
use trace_analyze::carried::{ADDED, EVENT, SHOWN};

/// The maximum length of an instant's name from a log message, in bytes.
const MAX_LOG_NAME_BYTES: usize = 100;

impl PerfettoExporter {
    pub(super) fn log(&mut self, item: &Item<'_>, log: &Log<'_>) {
        let message = String::from_utf8_lossy(log.message);
        let name = cut_str(message.lines().next().unwrap_or(""), MAX_LOG_NAME_BYTES);
        let track = self.tracks.thread(item.thread(log.thread));
        let mut instant = self.note(track, "log", name, vec![string("message", &*message)]);
        let body_iid = Some(self.packets.log_message(message.into_owned()));
        instant.log_message = Some(LogMessage { body_iid });
        self.timed(item.nanos(log.ticks), instant);
    }

    pub(super) fn provider_event(&mut self, id: u32, event: ProviderEvent) {
        let name = match event == ProviderEvent::BUFFER_FULL {
            true => "buffer full",
            false => "provider event",
        };
        let track = self.tracks.named(&mut self.packets, ROOT, "lost records");
        let annotations = vec![number("provider", id.into()), number("event", event.bits())];
        let instant = self.note(track, "trace", name, annotations);
        self.untimed(instant);
    }

    pub(super) fn kernel_object<'a>(&mut self, item: &Item<'a>, object: &KernelObject<'a>) {
        let koid = object.koid;
        let name = item.text(object.name);
        match object.object_type {
            // The catalog has the names at the end.
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
                let mut annotations = self.annotations(item, &object.arguments);
                annotations.extend([number("koid", koid), number("type", kind.bits())]);
                let instant = self.note(track, "object", name, annotations);
                self.untimed(instant);
            }
        }
    }

    pub(super) fn userspace_object<'a>(&mut self, item: &Item<'a>, object: &UserspaceObject<'a>) {
        let track = self.in_process(item, object.process, "objects");
        let mut annotations = self.annotations(item, &object.arguments);
        annotations.push(pointer("pointer", object.pointer));
        let instant = self.note(track, "object", item.text(object.name), annotations);
        self.untimed(instant);
    }

    pub(super) fn blob<'a>(&mut self, item: &Item<'a>, blob: &Blob<'a>) {
        let name = item.text(blob.name);
        match &*name {
            // Samples have the names of functions.
            ADDED | SHOWN | SYMBOLS => return,
            EVENT if self.tracks.hints.add(blob.payload) => return,
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

    /// Writes a blob as an instant.
    pub(super) fn bytes(&mut self, name: &str, blob_type: BlobType, payload: &[u8]) {
        let track = self.tracks.named(&mut self.packets, ROOT, "blobs");
        let mut annotations = vec![number("type", blob_type.bits())];
        annotations.extend(bytes(payload));
        let instant = self.note(track, "blob", name, annotations);
        self.untimed(instant);
    }

    pub(super) fn large_blob<'a>(&mut self, item: &Item<'a>, blob: &LargeBlob<'a>) {
        let track = match &blob.event {
            Some(event) => self.tracks.thread(item.thread(event.thread)),
            None => self.tracks.named(&mut self.packets, ROOT, "blobs"),
        };
        let (place, arguments) = ((Kind::Instant, track), item.record.arguments());
        let mut instant = self.labelled(item, place, (blob.category, blob.name), &arguments);
        instant.debug_annotations.extend(bytes(blob.payload));
        match &blob.event {
            Some(event) => self.timed(item.nanos(event.ticks), instant),
            None => self.untimed(instant),
        }
    }

    pub(super) fn module(&mut self, item: &Item<'_>, module: &Module<'_>) {
        let track = self.in_process(item, module.process, "modules");
        let name = String::from_utf8_lossy(module.name);
        let annotations = vec![
            number("module", module.module_id.into()),
            string("build id", HEXLOWER.encode(module.build_id)),
        ];
        let instant = self.note(track, "profiler", name, annotations);
        self.timed(item.nanos(module.ticks), instant);
    }

    pub(super) fn mmap(&mut self, item: &Item<'_>, mmap: &Mmap) {
        let track = self.in_process(item, mmap.process, "modules");
        let annotations = vec![
            number("module", mmap.module_id.into()),
            number("flags", mmap.flags.into()),
            pointer("start", mmap.start),
            pointer("length", mmap.length),
            pointer("module address", mmap.module_address),
        ];
        let instant = self.note(track, "profiler", "mmap", annotations);
        self.timed(item.nanos(mmap.ticks), instant);
    }

    pub(super) fn backtrace(&mut self, item: &Item<'_>, backtrace: &Backtrace<'_>) {
        let koids = item.thread(backtrace.thread);
        let track = self.tracks.thread(koids);
        if let Some(ids) = ids(koids) {
            let nanos = item.nanos(backtrace.ticks);
            self.pass(nanos);
            let Sample { sample, data, is_first } =
                self.samples.sample(&self.objects, item, backtrace, ids);
            return self.packets.sample(nanos, sample, data, is_first);
        }
        let mut annotations = vec![addresses("frames", backtrace.frames.iter())];
        let name = |frame| self.objects.name(item, Value::Pointer(frame));
        if backtrace.frames.iter().any(|frame| name(frame).is_some()) {
            let symbols = backtrace.frames.iter().map(|frame| name(frame).unwrap_or_default());
            annotations.push(strings("symbols", symbols));
        }
        let instant = self.note(track, "profiler", "backtrace", annotations);
        self.timed(item.nanos(backtrace.ticks), instant);
    }

    fn in_process(&mut self, item: &Item<'_>, process: Process, name: &'static str) -> Uuid {
        let process = self.tracks.process(item.process(process));
        self.tracks.named(&mut self.packets, process, name)
    }
}
