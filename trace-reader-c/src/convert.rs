//! Records as structures of C.
#![forbid(unsafe_code)]

use trace_format::layout::ArgumentType;
use trace_format::{self as format, Item, Metadata};

use crate::abi::{self, Bytes, Content, Text, Thread, Time};
use crate::texts::Texts;

/// The data that a record points to. It keeps its address until it is cleared.
#[derive(Debug, Default)]
pub(crate) struct Store {
    texts: Texts,
    arguments: Vec<abi::Argument>,
    frames: Vec<u64>,
}

impl Store {
    pub(crate) fn clear(&mut self) {
        self.texts.clear();
        self.arguments.clear();
        self.frames.clear();
    }

    /// Creates a record; the caller sets its provider.
    pub(crate) fn record(
        &mut self,
        item: &Item<'_>,
        provider: *const abi::Provider,
    ) -> abi::Record {
        let (kind, content) = self.content(item);
        let arguments = item.record.arguments();
        for argument in arguments.iter() {
            let argument = self.argument(item, argument);
            self.arguments.push(argument);
        }
        abi::Record {
            kind,
            offset: item.offset,
            provider,
            arguments: self.arguments.as_ptr(),
            argument_count: self.arguments.len(),
            content,
        }
    }

    fn content(&mut self, item: &Item<'_>) -> (u32, Content) {
        use format::Record::*;
        match item.record {
            Metadata(metadata) => self.metadata(metadata),
            Initialization { ticks_per_second } => self.table(4, ticks_per_second, 0, &[]),
            String { index, value } => self.table(5, index.into(), 0, value),
            Thread { index, koids } => {
                let table = abi::Table { thread: koids.into(), ..table(index.into()) };
                (6, Content { table })
            }
            Event(event) => (7, Content { event: self.event(item, &event) }),
            Blob(blob) => (8, Content { blob: self.blob(item, &blob) }),
            UserspaceObject(object) => {
                let (process, name) = (item.process(object.process), self.text(item, object.name));
                (9, Content { object: abi::Object { process, id: object.pointer, kind: 0, name } })
            }
            KernelObject(object) => {
                let (kind, name) = (object.object_type.0.into(), self.text(item, object.name));
                (10, Content { object: abi::Object { process: 0, id: object.koid, kind, name } })
            }
            LegacyContextSwitch(switch) => {
                (11, Content { scheduling: legacy_switch(item, &switch) })
            }
            ContextSwitch(switch) => (12, Content { scheduling: context_switch(item, &switch) }),
            ThreadWakeup(wakeup) => (13, Content { scheduling: thread_wakeup(item, &wakeup) }),
            Log(log) => (14, Content { log: self.log(item, &log) }),
            Module(module) => (15, Content { module: self.module(item, &module) }),
            Mmap(mmap) => (16, Content { module: mapping(item, &mmap) }),
            Backtrace(backtrace) => (17, Content { backtrace: self.backtrace(item, &backtrace) }),
            LargeBlob(blob) => (18, Content { large_blob: self.large_blob(item, &blob) }),
            Unknown(record) => {
                let (header, payload) = (record.header, record.payload.into());
                (19, Content { unknown: abi::Unknown { header, payload } })
            }
        }
    }

    fn metadata(&mut self, metadata: Metadata<'_>) -> (u32, Content) {
        match metadata {
            Metadata::MagicNumber => self.table(0, 0, 0, &[]),
            Metadata::ProviderInfo { id, name } => self.table(1, id.into(), 0, name),
            Metadata::ProviderSection { id } => self.table(2, id.into(), 0, &[]),
            Metadata::ProviderEvent { id, event } => self.table(3, id.into(), event.0.into(), &[]),
        }
    }

    fn table(&mut self, record: u32, number: u64, kind: u32, text: &[u8]) -> (u32, Content) {
        let text = self.lossy(text);
        (record, Content { table: abi::Table { kind, text, ..table(number) } })
    }

    fn event(&mut self, item: &Item<'_>, event: &format::Event<'_>) -> abi::Event {
        use format::EventKind::*;
        const NO_SCOPE: u32 = 3;
        let plain = (NO_SCOPE, Time::NONE);
        let (kind, id, (scope, end)) = match event.kind {
            Instant { scope } => (0, 0, (scope.map_or(NO_SCOPE, |scope| scope as u32), Time::NONE)),
            Counter { id } => (1, id, plain),
            DurationBegin => (2, 0, plain),
            DurationEnd => (3, 0, plain),
            DurationComplete { end } => (4, 0, (NO_SCOPE, time(item, end))),
            AsyncBegin { id } => (5, id, plain),
            AsyncInstant { id } => (6, id, plain),
            AsyncEnd { id } => (7, id, plain),
            FlowBegin { id } => (8, id, plain),
            FlowStep { id } => (9, id, plain),
            FlowEnd { id } => (10, id, plain),
        };
        abi::Event {
            kind,
            scope,
            time: time(item, event.ticks),
            end,
            thread: item.thread(event.thread).into(),
            category: self.text(item, event.category),
            name: self.text(item, event.name),
            id,
        }
    }

    fn blob(&mut self, item: &Item<'_>, blob: &format::Blob<'_>) -> abi::Blob {
        abi::Blob {
            kind: blob.blob_type.0.into(),
            name: self.text(item, blob.name),
            bytes: blob.payload.into(),
        }
    }

    fn large_blob(&mut self, item: &Item<'_>, blob: &format::LargeBlob<'_>) -> abi::LargeBlob {
        let event = blob.event;
        abi::LargeBlob {
            is_event: event.is_some(),
            time: event.map_or(Time::NONE, |event| time(item, event.ticks)),
            thread: event.map_or(Thread::NONE, |event| item.thread(event.thread).into()),
            category: self.text(item, blob.category),
            name: self.text(item, blob.name),
            bytes: blob.payload.into(),
        }
    }

    fn log(&mut self, item: &Item<'_>, log: &format::Log<'_>) -> abi::Log {
        abi::Log {
            time: time(item, log.ticks),
            thread: item.thread(log.thread).into(),
            message: self.lossy(log.message),
        }
    }

    fn module(&mut self, item: &Item<'_>, module: &format::Module<'_>) -> abi::Module {
        abi::Module {
            time: time(item, module.ticks),
            process: item.process(module.process),
            module_id: module.module_id.into(),
            flags: 0,
            name: self.lossy(module.name),
            build_id: module.build_id.into(),
            start: 0,
            length: 0,
            module_address: 0,
        }
    }

    fn backtrace(&mut self, item: &Item<'_>, backtrace: &format::Backtrace<'_>) -> abi::Backtrace {
        self.frames.extend(backtrace.frames.iter());
        abi::Backtrace {
            time: time(item, backtrace.ticks),
            thread: item.thread(backtrace.thread).into(),
            frames: self.frames.as_ptr(),
            frame_count: self.frames.len(),
        }
    }

    fn argument(&mut self, item: &Item<'_>, argument: format::Argument<'_>) -> abi::Argument {
        use format::Value::*;
        let (kind, value) = match argument.value {
            Null => (ArgumentType::Null, abi::Value { uint64: 0 }),
            Int32(int32) => (ArgumentType::Int32, abi::Value { int32 }),
            Uint32(uint32) => (ArgumentType::Uint32, abi::Value { uint32 }),
            Int64(int64) => (ArgumentType::Int64, abi::Value { int64 }),
            Uint64(uint64) => (ArgumentType::Uint64, abi::Value { uint64 }),
            Double(number) => (ArgumentType::Double, abi::Value { number }),
            String(text) => (ArgumentType::String, abi::Value { string: self.text(item, text) }),
            Pointer(uint64) => (ArgumentType::Pointer, abi::Value { uint64 }),
            Koid(uint64) => (ArgumentType::Koid, abi::Value { uint64 }),
            Bool(boolean) => (ArgumentType::Bool, abi::Value { boolean }),
            Blob(bytes) => (ArgumentType::Blob, abi::Value { blob: bytes.into() }),
        };
        abi::Argument { name: self.text(item, argument.name), kind: kind as u32, value }
    }

    fn text(&mut self, item: &Item<'_>, text: format::Text<'_>) -> Text {
        match text {
            format::Text::Inline(bytes) => self.lossy(bytes),
            indexed => self.texts.keep(&item.text(indexed)),
        }
    }

    fn lossy(&mut self, bytes: &[u8]) -> Text {
        if bytes.is_empty() {
            return Text::EMPTY;
        }
        self.texts.keep(&std::string::String::from_utf8_lossy(bytes))
    }
}

fn table(number: u64) -> abi::Table {
    abi::Table { number, kind: 0, text: Text::EMPTY, thread: Thread::NONE }
}

fn time(item: &Item<'_>, ticks: u64) -> Time {
    Time { ticks, nanoseconds: item.nanos(ticks) }
}

fn legacy_switch(item: &Item<'_>, switch: &format::LegacyContextSwitch) -> abi::Scheduling {
    abi::Scheduling {
        time: time(item, switch.ticks),
        cpu: switch.cpu.into(),
        outgoing_state: switch.outgoing_state.0.into(),
        outgoing: item.thread(switch.outgoing).into(),
        incoming: item.thread(switch.incoming).into(),
        outgoing_priority: switch.outgoing_priority.into(),
        incoming_priority: switch.incoming_priority.into(),
    }
}

fn context_switch(item: &Item<'_>, switch: &format::ContextSwitch<'_>) -> abi::Scheduling {
    abi::Scheduling {
        time: time(item, switch.ticks),
        cpu: switch.cpu.into(),
        outgoing_state: switch.outgoing_state.0.into(),
        outgoing: Thread { process: 0, thread: switch.outgoing_thread },
        incoming: Thread { process: 0, thread: switch.incoming_thread },
        outgoing_priority: 0,
        incoming_priority: 0,
    }
}

fn thread_wakeup(item: &Item<'_>, wakeup: &format::ThreadWakeup<'_>) -> abi::Scheduling {
    abi::Scheduling {
        time: time(item, wakeup.ticks),
        cpu: wakeup.cpu.into(),
        outgoing_state: 0,
        outgoing: Thread::NONE,
        incoming: Thread { process: 0, thread: wakeup.thread },
        outgoing_priority: 0,
        incoming_priority: 0,
    }
}

fn mapping(item: &Item<'_>, mmap: &format::Mmap) -> abi::Module {
    abi::Module {
        time: time(item, mmap.ticks),
        process: item.process(mmap.process),
        module_id: mmap.module_id.into(),
        flags: mmap.flags.into(),
        name: Text::EMPTY,
        build_id: Bytes::EMPTY,
        start: mmap.start,
        length: mmap.length,
        module_address: mmap.module_address,
    }
}
