//! The messages and fields of Perfetto's format that the exporter writes.
//!
//! Names and numbers are those of `protos/perfetto/trace/` in Perfetto's sources. Repeated fields
//! with at most one entry are optional fields here: their encoding is the same.

use prost::Message;

/// Defines messages: a line for each field, with its number and its type in Protocol Buffers.
macro_rules! messages {
    ($(
        $(#[$about:meta])*
        $message:ident {
            $($(#[$note:meta])* $field:ident: $type:ty = $number:tt: $($kind:ident),+;)*
        }
    )*) => {
        $(
            $(#[$about])*
            #[derive(Clone, PartialEq, Message)]
            pub(super) struct $message {
                $($(#[$note])* #[prost($($kind),+, tag = $number)] pub(super) $field: $type,)*
            }
        )*
    };
}

messages! {
    /// `TracePacket`
    TracePacket {
        ftrace_events: Option<Box<FtraceEventBundle>> = 1: message, optional, boxed;
        clock_snapshot: Option<Box<ClockSnapshot>> = 6: message, optional, boxed;
        timestamp: Option<u64> = 8: uint64, optional;
        trusted_packet_sequence_id: Option<u32> = 10: uint32, optional;
        track_event: Option<Box<TrackEvent>> = 11: message, optional, boxed;
        interned_data: Option<Box<InternedData>> = 12: message, optional, boxed;
        sequence_flags: Option<u32> = 13: uint32, optional;
        trace_packet_defaults: Option<Box<TracePacketDefaults>> = 59: message, optional, boxed;
        track_descriptor: Option<Box<TrackDescriptor>> = 60: message, optional, boxed;
        perf_sample: Option<PerfSample> = 66: message, optional;
    }

    /// `TracePacket` of a track event: the fields that most packets have
    EventPacket {
        timestamp: Option<u64> = 8: uint64, optional;
        trusted_packet_sequence_id: Option<u32> = 10: uint32, optional;
        track_event: Option<TrackEvent> = 11: message, optional;
        interned_data: Option<Box<InternedData>> = 12: message, optional, boxed;
        sequence_flags: Option<u32> = 13: uint32, optional;
    }

    /// `TracePacket` of a slice's end
    EndPacket {
        timestamp: Option<u64> = 8: uint64, optional;
        trusted_packet_sequence_id: Option<u32> = 10: uint32, optional;
        track_event: Option<SliceEnd> = 11: message, optional;
        sequence_flags: Option<u32> = 13: uint32, optional;
    }

    /// `TracePacketDefaults`
    TracePacketDefaults {
        perf_sample_defaults: Option<PerfSampleDefaults> = 12: message, optional;
    }

    /// `PerfSampleDefaults`
    PerfSampleDefaults {
        timebase: Option<Timebase> = 1: message, optional;
    }

    /// `PerfEvents.Timebase`
    Timebase {
        name: Option<String> = 10: string, optional;
    }

    /// `PerfSample`, without a CPU and its mode, which samples of FXT do not have
    PerfSample {
        pid: Option<u32> = 2: uint32, optional;
        tid: Option<u32> = 3: uint32, optional;
        callstack_iid: Option<u64> = 4: uint64, optional;
        timebase_count: Option<u64> = 6: uint64, optional;
    }

    /// `TrackEvent`
    TrackEvent {
        category_iid: Option<u64> = 3: uint64, optional;
        debug_annotations: Vec<DebugAnnotation> = 4: message, repeated;
        legacy_event: Option<LegacyEvent> = 6: message, optional;
        /// `TYPE_...`; 0 for a legacy event.
        kind: Option<i32> = 9: int32, optional;
        name_iid: Option<u64> = 10: uint64, optional;
        track_uuid: Option<u64> = 11: uint64, optional;
        log_message: Option<LogMessage> = 21: message, optional;
        name: Option<String> = 23: string, optional;
        counter_value: Option<i64> = 30: int64, optional;
        double_counter_value: Option<f64> = 44: double, optional;
    }

    /// `TrackEvent` of the end of the innermost slice
    SliceEnd {
        /// [`Kind::SliceEnd`]
        kind: Option<i32> = 9: int32, optional;
        track_uuid: Option<u64> = 11: uint64, optional;
    }

    /// `TrackEvent.LegacyEvent`, for flows: only legacy flows bind to the open slice of the track,
    /// as flows of FXT do.
    LegacyEvent {
        /// A letter of the Trace Event Format.
        phase: Option<i32> = 2: int32, optional;
        unscoped_id: Option<u64> = 6: uint64, optional;
        bind_to_enclosing: Option<bool> = 12: bool, optional;
    }

    /// `LogMessage`
    LogMessage {
        body_iid: Option<u64> = 2: uint64, optional;
    }

    /// `InternedData`
    InternedData {
        event_categories: Vec<InternedString> = 1: message, repeated;
        event_names: Vec<InternedString> = 2: message, repeated;
        debug_annotation_names: Vec<InternedString> = 3: message, repeated;
        function_names: Vec<InternedString> = 5: message, repeated;
        frames: Vec<Frame> = 6: message, repeated;
        callstacks: Vec<Callstack> = 7: message, repeated;
        build_ids: Vec<InternedBytes> = 16: message, repeated;
        mapping_paths: Vec<InternedString> = 17: message, repeated;
        source_paths: Vec<InternedString> = 18: message, repeated;
        mappings: Vec<Mapping> = 19: message, repeated;
        log_message_body: Vec<InternedString> = 20: message, repeated;
    }

    /// `InternedString` of a build id
    InternedBytes {
        iid: Option<u64> = 1: uint64, optional;
        bytes: Option<Vec<u8>> = 2: bytes, optional;
    }

    /// `Frame`
    Frame {
        iid: Option<u64> = 1: uint64, optional;
        function_name_id: Option<u64> = 2: uint64, optional;
        mapping_id: Option<u64> = 3: uint64, optional;
        rel_pc: Option<u64> = 4: uint64, optional;
        source_path_iid: Option<u64> = 5: uint64, optional;
        line_number: Option<u32> = 6: uint32, optional;
    }

    /// `EventCategory`, `EventName`, `DebugAnnotationName`, `LogMessageBody` and `InternedString`,
    /// which have the same fields.
    InternedString {
        iid: Option<u64> = 1: uint64, optional;
        text: Option<String> = 2: string, optional;
    }

    /// `TrackDescriptor`
    TrackDescriptor {
        uuid: Option<u64> = 1: uint64, optional;
        name: Option<String> = 2: string, optional;
        process: Option<ProcessDescriptor> = 3: message, optional;
        thread: Option<ThreadDescriptor> = 4: message, optional;
        parent_uuid: Option<u64> = 5: uint64, optional;
        counter: Option<CounterDescriptor> = 8: message, optional;
        /// [`SiblingMerge`]
        sibling_merge_behavior: Option<i32> = 15: int32, optional;
    }

    /// `ProcessDescriptor`
    ProcessDescriptor {
        pid: Option<i32> = 1: int32, optional;
        legacy_sort_index: Option<i32> = 3: int32, optional;
        process_name: Option<String> = 6: string, optional;
        process_labels: Vec<String> = 8: string, repeated;
    }

    /// `ThreadDescriptor`
    ThreadDescriptor {
        pid: Option<i32> = 1: int32, optional;
        tid: Option<i32> = 2: int32, optional;
        legacy_sort_index: Option<i32> = 3: int32, optional;
        thread_name: Option<String> = 5: string, optional;
    }

    /// `CounterDescriptor`; marks the track of a counter.
    CounterDescriptor {}

    /// `ClockSnapshot`
    ClockSnapshot {
        clocks: Vec<Clock> = 1: message, repeated;
    }

    /// `ClockSnapshot.Clock`
    Clock {
        /// `BuiltinClock`: 1 `CLOCK_REALTIME`, 6 `CLOCK_BOOTTIME`, the clock of all times.
        clock_id: Option<u32> = 1: uint32, optional;
        timestamp: Option<u64> = 2: uint64, optional;
    }

    /// `FtraceEventBundle`, of one event
    FtraceEventBundle {
        cpu: Option<u32> = 1: uint32, optional;
        event: Option<FtraceEvent> = 2: message, optional;
    }

    /// `FtraceEvent`
    FtraceEvent {
        timestamp: Option<u64> = 1: uint64, optional;
        pid: Option<u32> = 2: uint32, optional;
        sched_switch: Option<SchedSwitch> = 4: message, optional;
        common_flags: Option<u32> = 5: uint32, optional;
        sched_waking: Option<SchedWaking> = 20: message, optional;
    }

    /// `SchedSwitchFtraceEvent`
    SchedSwitch {
        prev_comm: Option<String> = 1: string, optional;
        prev_pid: Option<i32> = 2: int32, optional;
        prev_prio: Option<i32> = 3: int32, optional;
        prev_state: Option<i64> = 4: int64, optional;
        next_comm: Option<String> = 5: string, optional;
        next_pid: Option<i32> = 6: int32, optional;
        next_prio: Option<i32> = 7: int32, optional;
    }

    /// `SchedWakingFtraceEvent`
    SchedWaking {
        comm: Option<String> = 1: string, optional;
        pid: Option<i32> = 2: int32, optional;
        prio: Option<i32> = 3: int32, optional;
        success: Option<i32> = 4: int32, optional;
        target_cpu: Option<i32> = 5: int32, optional;
    }
}

/// `Callstack`
#[derive(Clone, PartialEq, Message)]
pub(super) struct Callstack {
    #[prost(uint64, optional, tag = "1")]
    pub(super) iid: Option<u64>,
    /// The outermost first.
    #[prost(uint64, repeated, packed = "false", tag = "2")]
    pub(super) frame_ids: Vec<u64>,
}

/// `Mapping`
#[derive(Clone, PartialEq, Message)]
pub(super) struct Mapping {
    #[prost(uint64, optional, tag = "1")]
    pub(super) iid: Option<u64>,
    #[prost(uint64, optional, tag = "2")]
    pub(super) build_id: Option<u64>,
    #[prost(uint64, repeated, packed = "false", tag = "7")]
    pub(super) path_string_ids: Vec<u64>,
}

/// `DebugAnnotation`
#[derive(Clone, PartialEq, Message)]
pub(super) struct DebugAnnotation {
    #[prost(uint64, optional, tag = "1")]
    pub(super) name_iid: Option<u64>,
    #[prost(oneof = "AnnotationValue", tags = "2, 3, 4, 5, 6, 7")]
    pub(super) value: Option<AnnotationValue>,
    #[prost(string, optional, tag = "10")]
    pub(super) name: Option<String>,
    #[prost(message, repeated, tag = "12")]
    pub(super) array_values: Vec<DebugAnnotation>,
}

/// `TrackEvent.Type`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    SliceBegin = 1,
    SliceEnd = 2,
    Instant = 3,
    Counter = 4,
}

/// The value of a `DebugAnnotation`
#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum AnnotationValue {
    #[prost(bool, tag = "2")]
    Bool(bool),
    #[prost(uint64, tag = "3")]
    Uint(u64),
    #[prost(int64, tag = "4")]
    Int(i64),
    #[prost(double, tag = "5")]
    Double(f64),
    #[prost(string, tag = "6")]
    String(String),
    #[prost(uint64, tag = "7")]
    Pointer(u64),
}

/// `TrackDescriptor.SiblingMergeBehavior`: whether tracks of one name and parent are shown as one,
/// which is the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SiblingMerge {
    None = 2,
}
