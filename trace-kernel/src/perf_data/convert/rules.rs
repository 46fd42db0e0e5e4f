//! How the records of a file are converted, which depends on its events.

use crate::byte_order::ByteOrder;
use crate::event as kernel;
use crate::perf_data::attribute::Attribute;
use crate::perf_data::features::Description;
use crate::perf_data::profile;

/// Tracepoints whose events the kernel's own records would repeat.
const SWITCHES: &[&str] = &["sched_switch"];
const NEW_THREADS: &[&str] = &["sched_process_fork"];
const NEW_TASKS: &[&str] = &["task_newtask"];
const EXECS: &[&str] = &["sched_process_exec"];
const EXITS: &[&str] = &["sched_process_exit"];
const RENAMES: &[&str] = &["task_rename"];

/// What depends on the events of the file.
#[derive(Debug)]
pub(super) struct Rules {
    /// For each event, whether its samples are stacks.
    pub(super) profile: Vec<bool>,
    /// Whether the stacks have different weights.
    pub(super) is_weighted: bool,
    /// The kinds of events that the kernel's own records have, and no tracepoint.
    pub(super) own: OwnEvents,
    /// Whether registers are those of this machine's architecture.
    pub(super) is_native: bool,
}

impl Rules {
    pub(super) fn of(
        attributes: &[Attribute],
        description: &Description,
        order: ByteOrder,
    ) -> Self {
        let decoder = &description.formats.decoder;
        let has = |names: &[&str]| {
            let tracepoints = attributes.iter().filter(|it| it.is_tracepoint());
            let ids = tracepoints.filter_map(|it| u16::try_from(it.config).ok());
            let mut formats = ids.filter_map(|id| decoder.format(id));
            formats.any(|format| names.contains(&&*format.name))
        };
        let is_native =
            order == ByteOrder::NATIVE && description.architecture == std::env::consts::ARCH;
        let profile = profile::choose(attributes);
        let is_weighted = profile::is_weighted(attributes, &profile);
        let own = OwnEvents {
            switches: !has(SWITCHES),
            forks: !has(NEW_THREADS),
            new_tasks: !has(NEW_TASKS),
            execs: !has(EXECS),
            exits: !has(EXITS),
            renames: !has(RENAMES),
        };
        Self { profile, is_weighted, own, is_native }
    }
}

/// Which events the kernel's own records have.
#[derive(Debug)]
pub(super) struct OwnEvents {
    pub(super) switches: bool,
    forks: bool,
    new_tasks: bool,
    execs: bool,
    exits: bool,
    renames: bool,
}

impl OwnEvents {
    pub(super) fn have(&self, event: &kernel::Event<'_>) -> bool {
        match event {
            kernel::Event::Switch { .. } => self.switches,
            kernel::Event::Fork { .. } => self.forks,
            kernel::Event::NewTask { .. } => self.new_tasks,
            kernel::Event::Exec { .. } => self.execs,
            kernel::Event::Exit { .. } => self.exits,
            kernel::Event::Rename { .. } => self.renames,
            _ => true,
        }
    }
}
