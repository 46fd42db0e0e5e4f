//! The registration of a provider.

use trace_protocol::message::{Features, Register, ToManager};

use crate::service::Service;

/// Returns the messages that register this process.
pub(crate) fn register(service: &Service) -> [ToManager; 2] {
    let process_name = process_name();
    let register = ToManager::Register(Register {
        name: service.config.name.clone().unwrap_or_else(|| process_name.clone()),
        process_name,
        clock: service.clock.source,
        durable_hint: durable_hint(service),
        categories: service.client.categories(),
    });
    let features = Features::SET_CATEGORIES.with(Features::SET_CONDITIONS).with(Features::STREAM);
    [ToManager::Supports(features), register]
}

/// Returns the name of this process, as `ps` shows it.
pub(crate) fn process_name() -> String {
    let name = std::fs::read("/proc/self/comm").unwrap_or_default();
    String::from_utf8_lossy(name.trim_ascii_end()).into_owned()
}

/// Returns the number of bytes that this provider needs in the durable buffer: those of its client,
/// and the names of a few hundred threads.
pub(crate) fn durable_hint(service: &Service) -> u64 {
    const THREAD_NAMES: usize = 16 << 10;
    (service.client.durable_bytes() + THREAD_NAMES) as u64
}
