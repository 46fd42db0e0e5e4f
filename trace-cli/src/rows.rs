//! Order and names of rows of statistics.

use trace_analyze::scheduling::{InterruptKind, Waker};
use trace_analyze::spans::Role;
use trace_analyze::stats::{Group, Row};
use trace_convert::visible;

use crate::args::SortBy;

/// No process or thread has such an id.
const FIRST_MADE_UP: u64 = 1 << 63;

/// Sorts rows by value, the largest first, or by name, alphabetically.
pub(crate) fn sort(rows: &mut [Row], by: SortBy) {
    let value = |row: &Row| match by {
        SortBy::Total => row.lengths.sum(),
        SortBy::Own => row.self_nanos,
        SortBy::OnCpu => row.on_cpu_nanos.unwrap_or(0),
        SortBy::Count => row.lengths.count(),
        SortBy::Mean => row.lengths.mean(),
        SortBy::Min => row.lengths.min(),
        SortBy::P50 => row.lengths.quantile(0.5),
        SortBy::P90 => row.lengths.quantile(0.9),
        SortBy::P99 => row.lengths.quantile(0.99),
        SortBy::P999 => row.lengths.quantile(0.999),
        SortBy::Max => row.lengths.max(),
        // The others are columns of threads.
        _ => 0,
    };
    let names = |row: &Row| {
        let koids = row.group.as_ref().map(|group| group.koids);
        let value = row.group.as_ref().and_then(|group| group.value.clone());
        (row.category.clone(), row.name.clone(), row.role.as_str(), koids, value)
    };
    // The sort is stable: rows of equal values stay in their order, the longest first.
    match by {
        SortBy::Name => rows.sort_by_cached_key(names),
        _ => rows.sort_by_cached_key(|row| std::cmp::Reverse(value(row))),
    }
}

/// Returns the category and the name of each row.
pub(crate) fn labels<'a>(
    rows: impl IntoIterator<Item = &'a Row, IntoIter: Clone>,
) -> impl Iterator<Item = (&'a str, &'a str)> + Clone {
    rows.into_iter().map(|row| (&*row.category, &*row.name))
}

/// Returns category and name, joined and escaped for a terminal, and the role of durations.
pub(crate) fn label(row: &Row) -> String {
    let (category, name) = (visible(&row.category), visible(&row.name));
    match row.role {
        Role::Duration => format!("{category}:{name}"),
        Role::Poll => format!("{category}:{name} (polls)"),
        Role::Drop => format!("{category}:{name} (drops)"),
    }
}

/// Returns the names and ids of a thread and its process, or of the thread if that is unknown.
pub(crate) fn thread_label(group: &Group) -> String {
    match group.koids.process {
        0 => named(group.koids.thread, &group.thread_name),
        _ => group_label(group),
    }
}

/// Returns ` by` and a thread, or an empty text if it is unknown.
pub(crate) fn by_thread(thread: Option<&Group>) -> String {
    thread.map_or_else(String::new, |thread| format!(" by {}", thread_label(thread)))
}

/// Returns `, first by` and the thread that got a processor from another one, or an empty text if
/// it is unknown. Others can follow it until the thread continues.
pub(crate) fn first_by_thread(thread: Option<&Group>) -> String {
    thread.map_or_else(String::new, |thread| format!(", first by {}", thread_label(thread)))
}

/// Returns the threads that ran first and last on a processor while another one waited for it, with
/// `, first by`, or an empty text if they are unknown.
pub(crate) fn ran_instead(first: Option<&Group>, last: Option<&Group>) -> String {
    let last = last.map(|last| (last.koids.thread, thread_label(last)));
    match (first, last) {
        (Some(first), Some((thread, last))) if first.koids.thread == thread => {
            format!(", first and last by {last}")
        }
        (first, Some((_, last))) => format!("{}, last by {last}", first_by_thread(first)),
        (first, None) => first_by_thread(first),
    }
}

/// Returns ` by` and the thread or interrupt that woke up a thread, or an empty text if that is
/// unknown.
pub(crate) fn by_waker(waker: Option<&Waker<Group>>) -> String {
    match waker {
        None => String::new(),
        Some(Waker::Thread(thread)) => by_thread(Some(thread)),
        Some(Waker::Interrupt { kind: InterruptKind::Hard, .. }) => " by an interrupt".to_owned(),
        Some(Waker::Interrupt { kind: InterruptKind::Soft, interrupted }) => {
            let during = interrupted.as_ref().map(|thread| format!(" in {}", thread_label(thread)));
            format!(" by a soft interrupt{}", during.unwrap_or_default())
        }
    }
}

/// Returns the names and ids of a process, or of a thread and its process, or a value.
pub(crate) fn group_label(group: &Group) -> String {
    if let Some(value) = &group.value {
        return visible(value.as_str()).into_owned();
    }
    let process = named(group.koids.process, &group.process_name);
    match group.koids.thread {
        0 => process,
        thread => format!("{process} / {}", named(thread, &group.thread_name)),
    }
}

/// Returns a name and an id. Those that a writer has made up, for threads that it does not know,
/// have only a name.
fn named(koid: u64, name: &str) -> String {
    match name {
        "" => koid.to_string(),
        name if koid >= FIRST_MADE_UP => visible(name).into_owned(),
        name => format!("{} ({koid})", visible(name)),
    }
}
