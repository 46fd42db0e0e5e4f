//! The bits of `BufferConfig::ctl`: Intel's register `IA32_RTIT_CTL`.

use trace_format::layout::Field;

/// Cycle counts.
pub type CycleEnable = Field<1, 1>;
/// Trace the kernel.
pub type Os = Field<2, 2>;
/// Trace user space.
pub type User = Field<3, 3>;
/// Power events.
pub type PowerEventEnable = Field<4, 4>;
/// A FUP after each PTWRITE.
pub type FupOnPtWrite = Field<5, 5>;
/// Trace one address space only; see `BufferConfig::address_space_match`.
pub type Cr3Filter = Field<7, 7>;
/// Packets of the crystal clock.
pub type MtcEnable = Field<9, 9>;
/// Time stamps.
pub type TscEnable = Field<10, 10>;
/// Disable compression of returns.
pub type DisableReturnCompression = Field<11, 11>;
/// PTWRITE packets.
pub type PtWriteEnable = Field<12, 12>;
/// Packets of branches.
pub type BranchEnable = Field<13, 13>;
/// The distance of MTC packets, as a power of two.
pub type MtcFrequency = Field<14, 17>;
/// The least cycles of a cycle count, as a power of two.
pub type CycleThreshold = Field<19, 22>;
/// The distance of PSB packets in bytes, 2^(11 + n).
pub type PsbFrequency = Field<24, 27>;
/// The effect of the first address range: 0 none, 1 restrict tracing, 2 stop tracing.
pub type Address0 = Field<32, 35>;
/// The effect of the second address range.
pub type Address1 = Field<36, 39>;

/// The bits that every back end supports.
pub const ALWAYS: u64 = Os::make(1)
    | User::make(1)
    | TscEnable::make(1)
    | DisableReturnCompression::make(1)
    | BranchEnable::make(1);

/// The default of Fuchsia's tool: branches of kernel and user space, with time stamps.
pub const DEFAULT: u64 = Os::make(1) | User::make(1) | TscEnable::make(1) | BranchEnable::make(1);
