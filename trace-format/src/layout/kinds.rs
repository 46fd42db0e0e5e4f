//! The type numbers of records, events, arguments and their parts.
//!
//! Where the meaning of the rest of a record depends on the number it is an
//! enum, which an unknown number does not fit. Where it is just a value it is
//! a number with names for those defined.

/// Defines an enum of numbers with the conversions from and to its bits.
macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $number:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $name {
            $($(#[$variant_doc])* $variant = $number,)*
        }

        impl $name {
            /// Returns the kind that a field's value says, `None` if unknown.
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

/// Defines a number with names for its known values.
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
    /// The type of a record, [`record::Type`](super::record::Type).
    RecordType {
        /// About the trace itself; see [`MetadataType`].
        Metadata = 0,
        /// The number of ticks per second.
        Initialization = 1,
        /// Registers a string in the string table.
        String = 2,
        /// Registers a thread in the thread table.
        Thread = 3,
        /// Something that happened; see [`EventType`].
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
        /// Of a sampling profiler; see [`ProfilerType`].
        Profiler = 10,
        /// A record with a 32-bit size; see [`LargeType`].
        Large = 15,
    }
}

numbered! {
    /// The type of a metadata record, [`metadata::Type`](super::metadata::Type).
    MetadataType {
        /// A provider's id and name; its section starts here.
        ProviderInfo = 1,
        /// The section of a provider starts here.
        ProviderSection = 2,
        /// Something happened to a provider.
        ProviderEvent = 3,
        /// About the whole trace; see [`TraceInfoType`].
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
    /// The type of an event record, [`event::EventType`](super::event::EventType).
    EventType {
        /// A moment; followed by an [`InstantScope`] word.
        Instant = 0,
        /// Samples of values; followed by the counter's id.
        Counter = 1,
        /// The beginning of an operation on one thread.
        DurationBegin = 2,
        /// The end of an operation on one thread.
        DurationEnd = 3,
        /// Beginning and end at once; followed by the end time in ticks.
        DurationComplete = 4,
        /// The beginning of an operation across threads; followed by its id.
        AsyncBegin = 5,
        /// A moment in such an operation; followed by its id.
        AsyncInstant = 6,
        /// The end of such an operation; followed by its id.
        AsyncEnd = 7,
        /// The start of an arrow between durations; followed by its id.
        FlowBegin = 8,
        /// A point on the arrow's way; followed by its id.
        FlowStep = 9,
        /// The end of the arrow; followed by its id.
        FlowEnd = 10,
    }
}

numbered! {
    /// The type of an argument, [`argument::Type`](super::argument::Type).
    ArgumentType {
        /// A name without a value.
        Null = 0,
        /// A signed integer of 32 bits, in the header.
        Int32 = 1,
        /// An unsigned integer of 32 bits, in the header.
        Uint32 = 2,
        /// A signed integer of 64 bits.
        Int64 = 3,
        /// An unsigned integer of 64 bits.
        Uint64 = 4,
        /// A floating point number of 64 bits.
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
    /// How far an instant event reaches, the record's last word.
    InstantScope {
        /// It concerns its thread.
        Thread = 0,
        /// It concerns its process.
        Process = 1,
        /// It concerns everything.
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
        /// A thread became runnable.
        ThreadWakeup = 2,
    }
}

numbered! {
    /// The type of a profiler record, [`profiler::Type`](super::profiler::Type).
    ProfilerType {
        /// A program or library.
        Module = 0,
        /// Where a module was mapped.
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
    /// What goes with a large blob, [`large::BlobFormat`](super::large::BlobFormat).
    LargeBlobFormat {
        /// The blob is an event with time, thread and arguments.
        Event = 0,
        /// The blob has category and name only.
        Attachment = 1,
    }
}

named! {
    /// What happened to a provider, [`provider_event::Event`](super::provider_event::Event).
    ProviderEvent {
        /// Its buffer filled up; records were likely dropped.
        BUFFER_FULL = 0,
    }
}

named! {
    /// What a blob's bytes are, [`blob::Type`](super::blob::Type).
    BlobType {
        /// Known to the reader by the blob's name.
        DATA = 1,
        /// A sample of Intel's last branch records.
        LAST_BRANCH = 2,
        /// A piece of a Perfetto trace.
        PERFETTO = 3,
    }
}

named! {
    /// The kind of a kernel object,
    /// [`kernel_object::ObjectType`](super::kernel_object::ObjectType).
    ObjectType {
        /// A process.
        PROCESS = 1,
        /// A thread; by convention with the argument `process`, a koid.
        THREAD = 2,
    }
}

named! {
    /// What an outgoing thread does after a context switch.
    ThreadState {
        /// Not started yet.
        NEW = 0,
        /// Ready to run.
        RUNNING = 1,
        /// Stopped by someone.
        SUSPENDED = 2,
        /// Waiting for something.
        BLOCKED = 3,
        /// About to end.
        DYING = 4,
        /// Ended.
        DEAD = 5,
    }
}
