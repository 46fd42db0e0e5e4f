//! Intel PT packets.
//!
//! From the bottom up:
//!
//! - [`layout`] has the position of each bit of each packet.
//! - [`Packet`] is one packet as a value.
//! - [`encode`] turns a packet into bytes and [`decode`] turns bytes into a packet. Both know one
//!   packet at a time and no state.
//! - [`PacketDecoder`] knows streams: pieces of any size, offsets, and how to continue after an
//!   error.
//! - [`PacketClock`] has the time of each packet, between time stamps by MTC and CYC packets.
//! - [`Writer`] writes the stream of an execution, as the hardware does. It keeps the last IP,
//!   pending branches and the return stack.

mod calibration;
pub mod decode;
pub mod encode;
mod head;
pub mod layout;
mod packet;
mod return_stack;
mod stream;
mod text;
mod time;
mod timing;
mod writer;

pub use decode::DecodeError;
pub use layout::Compression;
pub use packet::{ExecMode, Ip, Packet, PtWriteValue, Tnt, TsxMode, Wake};
pub(crate) use return_stack::ReturnStack;
pub use stream::{PacketAt, PacketDecoder, PacketError};
pub use time::PacketClock;
pub use timing::Timing;
pub use writer::{PsbState, Writer};
