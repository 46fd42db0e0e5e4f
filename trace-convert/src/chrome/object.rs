//! Objects and blobs.

use trace_format::layout::{BlobType, InstantScope, ObjectType};
use trace_format::{
    Blob, Item, KernelObject, LargeBlob, LargeBlobEvent, ThreadKoids, UserspaceObject,
};

use super::exporter::{Head, JsonExporter};
use trace_analyze::arguments;

impl JsonExporter {
    pub(super) fn kernel_object<'a>(&mut self, item: &Item<'a>, object: &KernelObject<'a>) {
        let koid = object.koid;
        if object.object_type == ObjectType::THREAD {
            self.system.name(koid, &item.text(object.name));
        }
        let (kind, thread) = match object.object_type {
            ObjectType::PROCESS => ("process_name", ThreadKoids::new(koid, koid)),
            ObjectType::THREAD => {
                let Some(process) = arguments::process_of(item, object) else {
                    self.has_loose_names = true;
                    return;
                };
                ("thread_name", ThreadKoids::new(process, koid))
            }
            _ => ("kernel_object", ThreadKoids::UNKNOWN),
        };
        self.begin_metadata(kind, thread);
        self.json.key("name").string(&item.text(object.name));
        if kind == "kernel_object" {
            self.json.key("type").safe_unsigned(object.object_type.bits());
            self.json.key("koid").koid(koid);
        }
        self.more_arguments(item, &object.arguments);
        self.end_with_arguments();
    }

    /// Adds the names of threads without a process, in each process that has the thread.
    pub(super) fn loose_names(&mut self) {
        if !std::mem::take(&mut self.has_loose_names) {
            return;
        }
        let threads = std::mem::take(&mut self.threads);
        for (koids, name) in threads.loose_names() {
            self.begin_metadata("thread_name", koids);
            self.json.key("name").string(name);
            self.end_with_arguments();
        }
    }

    /// Adds the names of processes that have only that of their first thread. A restored document
    /// has its own names.
    pub(super) fn names_of_first_threads(&mut self) {
        if self.documents.is_restored() {
            return;
        }
        let threads = std::mem::take(&mut self.threads);
        for (process, name) in threads.names_of_first_threads() {
            self.begin_metadata("process_name", ThreadKoids::new(process, process));
            self.json.key("name").string(name);
            self.end_with_arguments();
        }
        self.threads = threads;
    }

    pub(super) fn userspace_object<'a>(&mut self, item: &Item<'a>, object: &UserspaceObject<'a>) {
        let process = item.process(object.process);
        self.begin_at_last(&Head {
            phase: "O",
            category: "object",
            name: &item.text(object.name),
            nanos: self.nanos,
            thread: ThreadKoids::new(process, process),
        });
        self.id(object.pointer);
        self.json.raw(",\"args\":{\"snapshot\":");
        self.json.begin_object();
        self.more_arguments(item, &object.arguments);
        self.json.raw("}}}");
    }

    pub(super) fn blob<'a>(&mut self, item: &Item<'a>, blob: &Blob<'a>) {
        self.blob_of(&item.text(blob.name), blob.blob_type, blob.payload);
    }

    pub(super) fn blob_of(&mut self, name: &str, blob_type: BlobType, payload: &[u8]) {
        self.begin_metadata("blob", ThreadKoids::UNKNOWN);
        self.json.key("name").string(name);
        self.json.key("type").safe_unsigned(blob_type.bits());
        self.payload(payload);
        self.end_with_arguments();
    }

    pub(super) fn large_blob<'a>(&mut self, item: &Item<'a>, blob: &LargeBlob<'a>) {
        match &blob.event {
            Some(event) => self.large_blob_event(item, blob, event),
            None => {
                self.begin_metadata("blob", ThreadKoids::UNKNOWN);
                self.json.key("category").string(&item.text(blob.category));
                self.json.key("name").string(&item.text(blob.name));
            }
        }
        self.payload(blob.payload);
        self.end_with_arguments();
    }

    fn large_blob_event<'a>(
        &mut self,
        item: &Item<'a>,
        blob: &LargeBlob<'a>,
        event: &LargeBlobEvent<'a>,
    ) {
        self.begin(&Head {
            phase: "i",
            category: &item.text(blob.category),
            name: &item.text(blob.name),
            nanos: item.nanos(event.ticks),
            thread: item.thread(event.thread),
        });
        self.scope(InstantScope::Thread);
        self.begin_arguments();
        self.more_arguments(item, &event.arguments);
    }

    fn payload(&mut self, payload: &[u8]) {
        self.json.key("blob").base64(payload);
    }

    /// Starts a metadata event and its arguments.
    pub(super) fn begin_metadata(&mut self, kind: &str, thread: ThreadKoids) {
        self.begin_untimed("M", thread);
        self.json.raw(",\"name\":\"");
        self.json.raw(kind);
        self.json.raw("\"");
        self.begin_arguments();
    }
}
