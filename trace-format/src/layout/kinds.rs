//! The type numbers of records, events and arguments.
//!
//! A number that determines the layout of the record is an enum without unknown values. Any other
//! number is a struct with constants for the defined values.

/// Defines an enum of type numbers, and the conversions from and to bits.
macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $number:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $name {
            $($(#[$variant_doc])* $variant = $number,)*
        }

        impl $name {
            /// Returns the type with this number, or `None` if it is unknown.
            #[inline]
            #[must_use]
            pub const fn from_bits(bits: u64) -> Option<Self> {
                match bits {
                    $($number => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Returns the number to be stored in a field.
            #[inline]
            #[must_use]
            pub const fn bits(self) -> u64 {
                self as u64
            }
        }
    };
}

/// Defines a number with constants for its defined values.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$const_doc:meta])* $constant:ident = $number:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name(pub u8);

        impl $name {
            $($(#[$const_doc])* pub const $constant: Self = Self($number);)*

            /// Returns the number to be stored in a field.
            #[inline]
            #[must_use]
            pub const fn bits(self) -> u64 {
                self.0 as u64
            }
        }
    };
}

numbered! {
    /// The type of a record, [`record::Type`](super::record::Type) ("Record Types").
    RecordType {
        /// Metadata of the trace; see [`MetadataType`].
        Metadata = 0,
        /// The number of ticks per second.
        Initialization = 1,
        /// Registers a string in the string table.
        String = 2,
        /// Registers a thread in the thread table.
        Thread = 3,
        /// An event; see [`EventType`].
        Event = 4,
        /// Bulk data with a name.
        Blob = 5,
        /// A label for a pointer.
        UserspaceObject = 6,
        /// A label for a koid.
        KernelObject = 7,
        /// A context switch or a wakeup; see [`SchedulingType`].
        Scheduling = 8,
        /// A log message.
        Log = 9,
        /// A record of a sampling profiler; see [`ProfilerType`].
        Profiler = 10,
        /// A record with a 32-bit size; see [`LargeType`].
        Large = 15,
    }
}

numbered! {
    /// The type of a metadata record, [`metadata::Type`](super::metadata::Type).
    MetadataType {
        /// A provider's id and name. The provider's section starts here.
        ProviderInfo = 1,
        /// The start of a provider's section.
        ProviderSection = 2,
        /// A provider's state has changed; see [`ProviderEvent`].
        ProviderEvent = 3,
        /// A property of the trace; see [`TraceInfoType`].
        TraceInfo = 4,
    }
}

numbered! {
    /// The type of a trace info record, [`trace_info::Type`](super::trace_info::Type).
    TraceInfoType {
        /// The magic number record, [`MAGIC_WORD`](super::MAGIC_WORD).
        MagicNumber = 0,
    }
}

numbered! {
    /// The type of an event record, [`event::EventType`](super::event::EventType) ("Event Record").
    EventType {
        /// A point in time, followed by an [`InstantScope`] word.
        Instant = 0,
        /// Samples of values, followed by the counter's id.
        Counter = 1,
        /// The beginning of an operation on one thread.
        DurationBegin = 2,
        /// The end of an operation on one thread.
        DurationEnd = 3,
        /// An operation on one thread, followed by the end time in ticks.
        DurationComplete = 4,
        /// The beginning of an async operation, followed by its id.
        AsyncBegin = 5,
        /// A point in time of an async operation, followed by its id.
        AsyncInstant = 6,
        /// The end of an async operation, followed by its id.
        AsyncEnd = 7,
        /// The beginning of a flow between durations, followed by its id.
        FlowBegin = 8,
        /// A step of a flow, followed by its id.
        FlowStep = 9,
        /// The end of a flow, followed by its id.
        FlowEnd = 10,
    }
}

numbered! {
    /// The type of an argument, [`argument::Type`](super::argument::Type) ("Argument Types").
    ArgumentType {
        /// No value.
        Null = 0,
        /// A signed integer of 32 bits, in the header.
        Int32 = 1,
        /// An unsigned integer of 32 bits, in the header.
        Uint32 = 2,
        /// A signed integer of 64 bits.
        Int64 = 3,
        /// An unsigned integer of 64 bits.
        Uint64 = 4,
        /// A double-precision floating point number.
        Double = 5,
        /// A string, indexed or inline.
        String = 6,
        /// A pointer; see [`RecordType::UserspaceObject`].
        Pointer = 7,
        /// A koid; see [`RecordType::KernelObject`].
        Koid = 8,
        /// True or false, in the header.
        Bool = 9,
        /// Bytes.
        Blob = 10,
    }
}

numbered! {
    /// The scope of an instant event, the record's last word.
    InstantScope {
        /// The event's thread.
        Thread = 0,
        /// The event's process.
        Process = 1,
        /// All processes.
        Global = 2,
    }
}

numbered! {
    /// The type of a scheduling record, [`scheduling::Type`](super::scheduling::Type).
    SchedulingType {
        /// A context switch with priorities and thread refs.
        LegacyContextSwitch = 0,
        /// A context switch with arguments.
        ContextSwitch = 1,
        /// A thread becomes runnable.
        ThreadWakeup = 2,
    }
}

numbered! {
    /// The type of a profiler record, [`profiler::Type`](super::profiler::Type).
    ProfilerType {
        /// A program or library.
        Module = 0,
        /// A mapping of a module.
        Mmap = 1,
        /// A sample of a thread's call stack.
        Backtrace = 2,
    }
}

numbered! {
    /// The type of a large record, [`large::Type`](super::large::Type).
    LargeType {
        /// Bulk data; see [`LargeBlobFormat`].
        Blob = 0,
    }
}

numbered! {
    /// The format of a large blob, [`large::BlobFormat`](super::large::BlobFormat).
    LargeBlobFormat {
        /// With time, thread and arguments.
        Event = 0,
        /// With category and name only.
        Attachment = 1,
    }
}

named! {
    /// An event of a provider, [`provider_event::Event`](super::provider_event::Event) ("Provider
    /// Event Metadata").
    ProviderEvent {
        /// The provider's buffer is full, and records were probably dropped.
        BUFFER_FULL = 0,
    }
}

named! {
    /// The type of a blob's payload, [`blob::Type`](super::blob::Type) ("Blob Types").
    BlobType {
        /// Bytes whose meaning depends on the blob's name.
        DATA = 1,
        /// A sample of Intel's last branch records (LBR).
        LAST_BRANCH = 2,
        /// Packets of a Perfetto trace.
        PERFETTO = 3,
    }
}

named! {
    /// The type of a kernel object,
    /// [`kernel_object::ObjectType`](super::kernel_object::ObjectType), as Zircon numbers it.
    ObjectType {
        /// A process.
        PROCESS = 1,
        /// A thread. By convention, its argument `process` is the koid of its process ("Argument
        /// Conventions").
        THREAD = 2,
    }
}

named! {
    /// The state of an outgoing thread after a context switch ("Thread States").
    ThreadState {
        /// Not started yet.
        NEW = 0,
        /// Running or ready to run.
        RUNNING = 1,
        /// Suspended.
        SUSPENDED = 2,
        /// Blocked.
        BLOCKED = 3,
        /// Dying.
        DYING = 4,
        /// Dead.
        DEAD = 5,
    }
}
