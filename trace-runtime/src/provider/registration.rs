//! What a provider says of itself when it registers.

use std::collections::BTreeMap;

use trace_protocol::message::{CategoryInfo, ClockSource, Register, ToManager};

use super::recording::durable_hint;
use super::service::Service;
use crate::point::registry::site_categories;
use crate::point::site::categories;

/// The message that registers this process.
pub(super) fn register(service: &Service) -> ToManager {
    let process_name = process_name();
    ToManager::Register(Register {
        name: service.config.name.clone().unwrap_or_else(|| process_name.clone()),
        process_name,
        clock: if service.cpu_counter { ClockSource::CpuCounter } else { ClockSource::Boottime },
        durable_hint: durable_hint(),
        categories: known_categories(),
    })
}

/// The name of this process, as `ps` shows it.
pub(super) fn process_name() -> String {
    let name = std::fs::read("/proc/self/comm").unwrap_or_default();
    String::from_utf8_lossy(name.trim_ascii_end()).into_owned()
}

/// The categories of the program: those of its trace points, with the descriptions of those that
/// are declared.
pub(super) fn known_categories() -> Vec<CategoryInfo> {
    let mut known: BTreeMap<String, &str> =
        site_categories().into_iter().map(|name| (name, "")).collect();
    known.extend(
        categories().iter().map(|category| (category.name().to_owned(), category.description())),
    );
    known
        .into_iter()
        .map(|(name, description)| CategoryInfo { name, description: description.to_owned() })
        .collect()
}
