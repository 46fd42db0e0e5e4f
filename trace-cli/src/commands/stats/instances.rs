//! Tables of single durations and async operations.

use anyhow::Result;
use trace_analyze::parents::Parents;
use trace_analyze::slowest::{slowest, Instance, Slowest};
use trace_analyze::spans::Role;
use trace_convert::visible;

use super::{groups, over, short, states};
use crate::arguments;
use crate::cli::StatsArgs;
use crate::damage;
use crate::input::{SelectedThreads, Spill};
use crate::known;
use crate::message::say;
use crate::rows::thread_label;
use crate::table::{human_nanos, Table};
use crate::times::Origin;
use crate::unreadable::Failed;

/// Finds the selected instances: the `number` longest ones, or of each kind those that last at a
/// time.
pub(super) fn find(
    args: &StatsArgs,
    input: &SelectedThreads<'_>,
    number: usize,
    at: Option<u64>,
) -> Result<Slowest> {
    let filter = args.selection.filter();
    let is_selected = |category: &str, name: &str| filter.matches(category, name);
    let parents = Parents::default();
    let groups = groups(args, &parents, || input.whole.open())?;
    let open = || Ok::<_, Failed>(input.selected().open()?);
    let found = slowest(open, groups, number, at, over(args), is_selected);
    found.or_else(|error| error.explained(&args.file))
}

/// Fails if the archive has no event of a selected category or name.
pub(super) fn refuse_unknown(args: &StatsArgs, whole: &Spill<'_>, found: &Slowest) -> Result<()> {
    known::refuse_unknown(&args.file, whole, &args.selection, labels(found))
}

fn labels(found: &Slowest) -> impl Iterator<Item = (&str, &str)> + Clone {
    found.instances.iter().map(|instance| (&*instance.category, &*instance.name))
}

/// Reports unpaired and malformed data, and selected names without an instance that is longer than
/// `--over`. Returns the exit code.
pub(super) fn warn(args: &StatsArgs, found: &Slowest) -> u8 {
    if found.instances.is_empty() {
        short(args, labels(found)).iter().for_each(|message| say(message));
    }
    damage::warn_counts(&args.file, &damage::of_durations(&found.oddities));
    damage::warn_counts(&args.file, &damage::of_operations(&found.unpaired));
    damage::warn(&args.file, &found.damage)
}

/// Returns how long an instance has lasted at a time.
pub(super) fn age(instance: &Instance, at: u64) -> u64 {
    at.saturating_sub(instance.begin_nanos)
}

/// Returns a table of instances, with their age if there is a time, and the states of their threads
/// if those are known.
pub(super) fn table<'a>(
    instances: impl IntoIterator<Item = &'a Instance>,
    at: Option<u64>,
    origin: Origin,
) -> Table {
    let instances: Vec<&Instance> = instances.into_iter().collect();
    let has_states = instances.iter().any(|instance| instance.states.is_some());
    let mut heads = vec!["length"];
    heads.extend(at.map(|_| "age"));
    heads.extend(if has_states { states::NUMBERS } else { &[] });
    heads.push("begin");
    let numbers = heads.len();
    heads.extend(["name", "thread"]);
    heads.extend(has_states.then_some("longest wait"));
    heads.push("arguments");
    let mut table = Table::new(heads, numbers);
    for instance in instances {
        let thread = thread_label(&instance.group());
        let mut cells = vec![instance.nanos.map_or_else(|| "no end".to_owned(), human_nanos)];
        cells.extend(at.map(|at| human_nanos(age(instance, at))));
        if has_states {
            cells.extend(states::numbers(instance.states.as_ref()));
        }
        cells.extend([origin.text(instance.begin_nanos), label(instance), thread]);
        cells.extend(has_states.then(|| states::longest_wait(instance.states.as_ref())));
        cells.push(arguments::text(&instance.arguments));
        table.push(cells);
    }
    table
}

fn label(instance: &Instance) -> String {
    let (category, name) = (visible(&instance.category), visible(&instance.name));
    let id = instance.operation.or(instance.polled);
    let id = id.map_or_else(String::new, |id| format!(" id {id:#x}"));
    match instance.role {
        Role::Duration => format!("{category}:{name}{id}"),
        role => format!("{category}:{name}{id} ({})", role.as_str()),
    }
}
