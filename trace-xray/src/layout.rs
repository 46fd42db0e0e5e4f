//! The position of each bit in a log and in an instrumentation map.
//!
//! All offsets, bit ranges, type numbers and limits are defined here. A number in whole bytes is an
//! [`At`]: a type and an offset in bytes. A bit field is a [`Field`], with a module for each byte
//! order, because the order of bits depends on the byte order of the file.
//!
//! ```
//! use trace_xray::layout::{new_buffer, ByteOrder};
//!
//! let mut record = [0; 16];
//! new_buffer::Thread::set(&mut record, ByteOrder::Big, 4711);
//! assert_eq!(record[1..5], [0, 0, 0x12, 0x67]);
//! assert_eq!(new_buffer::Thread::get(&record, ByteOrder::Big), 4711);
//! ```

mod kinds;
mod number;

pub use kinds::{Action, MetadataKind, SledKind, Version};
pub use number::{At, ByteOrder, Number};
pub use trace_format::layout::Field;

/// The size of the file header.
pub const HEADER_BYTES: usize = 32;

/// The size of a function record.
pub const FUNCTION_BYTES: usize = 8;

/// The size of a metadata record, without the payload of an event.
pub const METADATA_BYTES: usize = 16;

/// The value of [`header::Type`] in a log of flight data recorder mode.
pub const TYPE_FDR: u16 = 1;

/// The value of [`header::Type`] in a log of basic mode.
pub const TYPE_BASIC: u16 = 0;

/// The highest function id, 28 bits.
pub const MAX_FUNCTION_ID: u32 = function::little::Function::MAX as u32;

/// The largest delta that is written. LLVM's runtime has the same limit, and the deltas of events
/// are signed.
pub const MAX_DELTA: u64 = i32::MAX as u64;

/// The largest payload of an event.
pub const MAX_PAYLOAD_BYTES: usize = i32::MAX as usize;

/// The payload of a custom event that only fills a thread buffer of version 1, before up to 15
/// zeros, or that is at the start of a thread.
pub const FILLER: [u8; 8] = *b"padding\0";

/// The file header. It is 32 bytes long.
pub mod header {
    use super::At;
    /// The [`Version`](super::Version).
    pub type Version = At<u16, 0>;
    /// [`TYPE_FDR`](super::TYPE_FDR).
    pub type Type = At<u16, 2>;
    /// The flags; see [`little`] and [`big`].
    pub type Flags = At<u32, 4>;
    /// Ticks per second.
    pub type CycleFrequency = At<u64, 8>;
    /// The size of each thread buffer in bytes.
    pub type BufferSize = At<u64, 16>;
    /// The id of the map with the names of functions, in a log of this project. Other writers leave
    /// it 0, and LLVM's tools ignore it.
    pub type MapId = At<u64, 24>;

    /// The flags of a little-endian log.
    pub mod little {
        use crate::layout::Field;
        /// Whether the counter ticks at a constant rate.
        pub type ConstantTsc = Field<0, 0>;
        /// Whether the counter ticks while the CPU sleeps.
        pub type NonstopTsc = Field<1, 1>;
        /// 0.
        pub type Reserved = Field<2, 31>;
    }

    /// The flags of a big-endian log.
    pub mod big {
        use crate::layout::Field;
        /// Whether the counter ticks at a constant rate.
        pub type ConstantTsc = Field<31, 31>;
        /// Whether the counter ticks while the CPU sleeps.
        pub type NonstopTsc = Field<30, 30>;
        /// 0.
        pub type Reserved = Field<0, 29>;
    }
}

/// The first byte of any record.
pub mod first_byte {
    /// In a little-endian log.
    pub mod little {
        use crate::layout::Field;
        /// 0 for a function record, 1 for a metadata record.
        pub type Metadata = Field<0, 0>;
        /// The [`MetadataKind`](crate::layout::MetadataKind).
        pub type Kind = Field<1, 7>;
    }

    /// In a big-endian log.
    pub mod big {
        use crate::layout::Field;
        /// 0 for a function record, 1 for a metadata record.
        pub type Metadata = Field<7, 7>;
        /// The [`MetadataKind`](crate::layout::MetadataKind).
        pub type Kind = Field<0, 6>;
    }
}

/// A function record: 8 bytes that are read as one number in the byte order of the file.
pub mod function {
    use super::At;
    /// The record.
    pub type Word = At<u64, 0>;

    /// The word of a little-endian log.
    pub mod little {
        use crate::layout::Field;
        /// 0.
        pub type Metadata = Field<0, 0>;
        /// The [`Action`](crate::layout::Action).
        pub type Action = Field<1, 3>;
        /// The function's id.
        pub type Function = Field<4, 31>;
        /// Ticks since the record before.
        pub type Delta = Field<32, 63>;
    }

    /// The word of a big-endian log.
    pub mod big {
        use crate::layout::Field;
        /// 0.
        pub type Metadata = Field<63, 63>;
        /// The [`Action`](crate::layout::Action).
        pub type Action = Field<60, 62>;
        /// The function's id.
        pub type Function = Field<32, 59>;
        /// Ticks since the record before.
        pub type Delta = Field<0, 31>;
    }
}

/// Metadata kind 0, the start of a thread buffer.
pub mod new_buffer {
    use super::At;
    /// The thread id. The specification has 2 bytes; every known writer and reader uses 4.
    pub type Thread = At<i32, 1>;
}

/// The CPU's number in a log of this project, if it is not known. The format has none for that, and
/// no machine has so many CPUs.
pub const UNKNOWN_CPU: u16 = u16::MAX;

/// Metadata kind 2, a change of the CPU.
pub mod new_cpu_id {
    use super::At;
    /// The CPU's number.
    pub type Cpu = At<u16, 1>;
    /// The time in ticks.
    pub type Tsc = At<u64, 3>;
}

/// Metadata kind 3, a new base for deltas.
pub mod tsc_wrap {
    use super::At;
    /// The time in ticks.
    pub type Tsc = At<u64, 1>;
}

/// Metadata kind 4, the wall-clock time at the start of a thread buffer.
pub mod wall_clock {
    use super::At;
    /// Whole seconds.
    pub type Seconds = At<u64, 1>;
    /// Microseconds of the second.
    pub type Micros = At<u32, 9>;
}

/// Metadata kind 5, a custom event. The payload follows.
pub mod custom_event {
    use super::At;
    /// The size of the payload in bytes, more than 0.
    pub type Size = At<i32, 1>;
    /// The time in ticks, up to version 4.
    pub type Tsc = At<u64, 5>;
    /// The CPU's number, version 4 only.
    pub type Cpu = At<u16, 13>;
    /// Ticks since the record before, from version 5.
    pub type Delta = At<i32, 5>;
}

/// Metadata kind 6, an argument of the function entry before.
pub mod call_argument {
    use super::At;
    /// The value.
    pub type Value = At<u64, 1>;
}

/// Metadata kind 7, the size of the thread buffer that follows.
pub mod buffer_extents {
    use super::At;
    /// The size in bytes, without this record.
    pub type Size = At<u64, 1>;
}

/// Metadata kind 8, a typed event. The payload follows.
pub mod typed_event {
    use super::At;
    /// The size of the payload in bytes, more than 0.
    pub type Size = At<i32, 1>;
    /// Ticks since the record before.
    pub type Delta = At<i32, 5>;
    /// The event's type.
    pub type EventType = At<u16, 9>;
}

/// Metadata kind 9, the process.
pub mod pid {
    use super::At;
    /// The process id.
    pub type Pid = At<i32, 1>;
}

/// The name of the ELF section with the sleds.
pub const SLED_SECTION: &str = "xray_instr_map";

/// The first version of sleds with addresses relative to their own position.
pub const SLED_VERSION_RELATIVE: u8 = 2;

/// The entry of a sled in a 64-bit program.
pub mod sled64 {
    use super::At;
    /// The size of the entry.
    pub const BYTES: usize = 32;
    /// The sled.
    pub type Address = At<u64, 0>;
    /// The function.
    pub type Function = At<u64, 8>;
    /// The [`SledKind`](super::SledKind).
    pub type Kind = At<u8, 16>;
    /// Not 0 if the function has the attribute `xray_always_instrument`.
    pub type AlwaysInstrument = At<u8, 17>;
    /// The version of the entry.
    pub type Version = At<u8, 18>;
}

/// The entry of a sled in a 32-bit program.
pub mod sled32 {
    use super::At;
    /// The size of the entry.
    pub const BYTES: usize = 16;
    /// The sled.
    pub type Address = At<u32, 0>;
    /// The function.
    pub type Function = At<u32, 4>;
    /// The [`SledKind`](super::SledKind).
    pub type Kind = At<u8, 8>;
    /// Not 0 if the function has the attribute `xray_always_instrument`.
    pub type AlwaysInstrument = At<u8, 9>;
    /// The version of the entry.
    pub type Version = At<u8, 10>;
}
