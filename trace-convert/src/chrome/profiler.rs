//! Records of a sampling profiler.

use std::sync::Arc;

use data_encoding::HEXLOWER;
use trace_format::layout::InstantScope;
use trace_format::{Backtrace, Item, Mmap, Module, Process, ThreadKoids};

use super::exporter::{Head, JsonExporter};
use crate::images::{CodeAddress, Place};

impl JsonExporter {
    pub(super) fn module(&mut self, item: &Item<'_>, module: &Module<'_>) {
        self.begin_in_process(item, "module", module.ticks, module.process);
        self.json.key("module").safe_unsigned(module.module_id.into());
        self.json.key("name").string(&String::from_utf8_lossy(module.name));
        self.json.key("build id").string(&HEXLOWER.encode(module.build_id));
        self.end_with_arguments();
    }

    pub(super) fn mmap(&mut self, item: &Item<'_>, mmap: &Mmap) {
        self.begin_in_process(item, "mmap", mmap.ticks, mmap.process);
        self.json.key("module").safe_unsigned(mmap.module_id.into());
        self.json.key("flags").safe_unsigned(mmap.flags.into());
        self.json.key("start").hex(mmap.start);
        self.json.key("length").hex(mmap.length);
        self.json.key("module address").hex(mmap.module_address);
        self.end_with_arguments();
    }

    pub(super) fn backtrace(&mut self, item: &Item<'_>, backtrace: &Backtrace<'_>) {
        let thread = item.thread(backtrace.thread);
        self.begin_profiler("backtrace", item.nanos(backtrace.ticks), thread);
        self.scope(InstantScope::Thread);
        self.json.raw(",\"stack\":[");
        let frames = self.frames(item, backtrace);
        for (place, frame) in frames.iter().rev().enumerate() {
            self.json.raw(if place == 0 { "" } else { "," });
            self.json.string(frame);
        }
        self.json.raw("]");
        self.end();
    }

    /// Returns the functions of a stack, innermost first, or the addresses without one.
    fn frames(&mut self, item: &Item<'_>, backtrace: &Backtrace<'_>) -> Vec<Arc<str>> {
        let Self { images, symbols, objects, .. } = self;
        let places = images.places(objects, item, backtrace);
        let mut frames = Vec::new();
        for (frame, place) in backtrace.frames.iter().zip(places) {
            let named = match place {
                Place::Code(CodeAddress { module, address }) => {
                    images.module(module).map(|module| symbols.frames(module, address))
                }
                Place::Named(_) | Place::Unknown(_) => None,
            };
            match named.filter(|named| !named.is_empty()) {
                Some(named) => frames.extend(named.iter().map(|frame| Arc::clone(&frame.function))),
                None => frames.push(format!("{frame:#x}").into()),
            }
        }
        frames
    }

    fn begin_in_process(&mut self, item: &Item<'_>, name: &str, ticks: u64, process: Process) {
        let process = item.process(process);
        let thread = ThreadKoids::new(process, process);
        self.begin_profiler(name, item.nanos(ticks), thread);
        self.scope(InstantScope::Process);
        self.begin_arguments();
    }

    fn begin_profiler(&mut self, name: &str, nanos: u64, thread: ThreadKoids) {
        self.begin(&Head { phase: "i", category: "profiler", name, nanos, thread });
    }
}
