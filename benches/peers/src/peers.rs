//! The tracers, one file each.

mod baseline;
mod bridges;
mod chrome;
mod fastrace;
mod ours;
#[cfg(feature = "perfetto")]
mod perfetto;
mod puffin;
mod spans;
#[cfg(feature = "tracy")]
mod tracy;

use crate::peer::Peer;

/// The name of the row that is the unit of the other rows.
pub const RAW_CLOCK: &str = baseline::RAW_CLOCK.name;
/// The name of the row that is subtracted from the cost of a trace point that is off.
pub const EMPTY_LOOP: &str = baseline::EMPTY_LOOP.name;

/// The name of the row that is subtracted from the cost of a layer.
pub const REGISTRY: &str = bridges::REGISTRY.name;
/// The name of the row that other layers are compared with.
pub const OUR_LAYER: &str = bridges::LAYER.name;
/// The name of this project's subscriber.
pub const OUR_SUBSCRIBER: &str = bridges::SUBSCRIBER.name;
/// The name of this project's tracer.
pub const RUNTIME: &str = ours::PEER.name;

/// All tracers, in the order of the table.
pub const ALL: &[Peer] = &[
    baseline::RAW_CLOCK,
    baseline::EMPTY_LOOP,
    ours::PEER,
    fastrace::PEER,
    chrome::PEER,
    puffin::PEER,
    #[cfg(feature = "tracy")]
    tracy::PEER,
    #[cfg(feature = "perfetto")]
    perfetto::PEER,
    bridges::REGISTRY,
    bridges::FILTERED,
    bridges::LAYER,
    bridges::SUBSCRIBER,
    bridges::FASTRACE,
    #[cfg(feature = "perfetto")]
    bridges::PERFETTO,
];

/// Returns the tracer of that name.
pub fn find(name: &str) -> Option<&'static Peer> {
    ALL.iter().find(|peer| peer.name == name)
}
