//! The reasons for which a recording is empty.

use std::ffi::OsString;
use std::time::Duration;

use trace_convert::visible;
use trace_manager::{ProviderSummary, SessionSummary};

use super::compiled_out::is_compiled_out;
use super::report::Report;
use super::stripped::is_stripped;
use crate::message::HINT;
use crate::table::human_nanos;

/// A program that is traced for less time may have dropped its guard at once.
const SHORT: Duration = Duration::from_millis(10);

/// A program that is traced for a small part of a longer time may have dropped it, too.
const BRIEF: Duration = Duration::from_secs(1);

const GUARD: &str = "keep the guard of init() until main ends, as in `let _trace = \
    trace_runtime::init();`: `let _ = …` drops it at once";

const SCOPE: &str = "a scope that begins before init() is not recorded, such as that of \
    #[trace_fn] on the function that calls init()";

const FUNCTIONS: &str = "`trace xray map PROGRAM` lists the functions that can be recorded";

const NAMES: &str = "a name has its path, as in `--functions 'app::*'`";

const STRIPPED: &str = "its functions have no names: build the program without `strip`";

const SLEDS: &str = "build a Rust program with `cargo trace-xray build`, and record the one in \
    target/xray; build C and C++ with clang's `-fxray-instrument -fno-xray-link-deps`";

const UNLOADED: &str = "a program without sleds looks for libraries with sleds every tenth of a \
    second: one that is unloaded before that is not found";

/// The size in bytes from which a buffer can take longer to prepare than init() waits. Its memory
/// is allocated before the program gets it, so that a write to it cannot fail.
const LARGE_BUFFER: u64 = 512 << 20;

const BUFFER: &str = "use a smaller buffer (-b): init() waits for one second until it is prepared";

const KERNEL: &str = "nothing was recorded: no selected thread had an event of the kernel";

/// Returns the hint if a program ended before its buffer was prepared.
pub(super) fn buffer_hint(provider: &ProviderSummary) -> Option<String> {
    let is_late = !provider.answered_start && provider.buffer_size >= LARGE_BUFFER;
    is_late.then(|| format!("{HINT}{BUFFER}"))
}

/// Returns the reason if a recording is empty.
pub(super) fn advice(report: &Report<'_>, summary: &SessionSummary) -> Option<String> {
    // Reports the program that was traced for the longest time.
    match summary.providers.iter().max_by_key(|provider| traced(provider)) {
        // The reasons follow.
        None if summary.refusals > 0 => {
            Some("nothing was recorded: programs were refused".to_owned())
        }
        None => Some(no_providers(report)),
        Some(_) if !summary.is_empty() => None,
        Some(provider) if report.kernel.is_some_and(|kernel| kernel.pid == Some(provider.pid)) => {
            Some(KERNEL.to_owned())
        }
        Some(_) if !summary.categories.is_empty() => {
            Some("nothing was recorded: no trace point of these categories was reached".to_owned())
        }
        Some(provider) if report.xray => Some(no_calls(provider, report.functions, report.command)),
        Some(provider) => Some(no_records(provider, summary.duration)),
    }
}

/// Returns the reason and hints for a program without records.
pub(super) fn no_records(provider: &ProviderSummary, session: Duration) -> String {
    let traced = traced(provider);
    let rest = session.saturating_sub(provider.left_after);
    let (name, time) = (visible(&provider.name), human_nanos(traced.as_nanos() as u64));
    let reason = "nothing was recorded: no trace point was reached while";
    let hints = buffer_hint(provider).unwrap_or_else(|| hints(traced, rest));
    format!("{reason} {name} was traced, for {time}{hints}")
}

/// Returns the reason and hints for a program none of whose functions was recorded (`--xray`).
pub(super) fn no_calls(
    provider: &ProviderSummary,
    functions: Option<&str>,
    command: &[OsString],
) -> String {
    let name = visible(&provider.name);
    if !provider.answered_start {
        let hint = buffer_hint(provider).unwrap_or_default();
        return format!("nothing was recorded: {name} did not answer the start in time{hint}");
    }
    let Some(functions) = functions else {
        return format!("nothing was recorded: no function with sleds was called while {name} was traced{HINT}{FUNCTIONS}");
    };
    let hint = match command.first() {
        Some(program) if is_stripped(program) => STRIPPED.to_owned(),
        _ => format!("{FUNCTIONS}: {NAMES}"),
    };
    let functions = visible(functions);
    format!("nothing was recorded: no function that --functions '{functions}' selects was called while {name} was traced{HINT}{hint}")
}

/// Returns the reason and hints if no program of the session has sleds (`--xray`).
fn no_sleds(name: &str) -> String {
    format!("nothing was recorded: neither {name} nor its children have sleds{HINT}{SLEDS}{HINT}{UNLOADED}")
}

fn traced(provider: &ProviderSummary) -> Duration {
    provider.left_after.saturating_sub(provider.joined_after)
}

/// Returns hints for a program that was traced for a time, and not for the rest of the session.
fn hints(traced: Duration, rest: Duration) -> String {
    let is_dropped = traced < BRIEF && rest > traced.saturating_mul(10);
    let guard = (is_dropped || traced < SHORT).then_some(GUARD);
    let scope = (!is_dropped).then_some(SCOPE);
    [guard, scope].into_iter().flatten().map(|hint| format!("{HINT}{hint}")).collect()
}

fn no_providers(report: &Report<'_>) -> String {
    let Some(program) = report.command.first() else {
        return "nothing was recorded: no program found the session".to_owned();
    };
    let name = program.to_string_lossy();
    let name = visible(&name);
    if report.kernel.is_some() {
        return format!("nothing was recorded: neither {name} nor its children are traced");
    }
    if report.xray {
        return no_sleds(&name);
    }
    if is_compiled_out(program) {
        return format!("nothing was recorded: tracing is compiled out of {name}{HINT}build the program without the feature ntrace of trace-runtime; cargo tree -e features -i trace-runtime shows the crate that enables it");
    }
    format!("nothing was recorded: neither {name} nor its children are traced{HINT}build the program with trace-runtime, and call trace_runtime::init()")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether the guard and scopes before `init()` are named.
    fn named(traced: u64, rest: u64) -> (bool, bool) {
        let hints = hints(Duration::from_millis(traced), Duration::from_millis(rest));
        (hints.contains(GUARD), hints.contains(SCOPE))
    }

    #[test]
    fn an_unloaded_library_may_be_the_reason() {
        let text = no_sleds("app");
        assert!(text.starts_with("nothing was recorded: neither app nor its children have sleds"));
        for part in ["cargo trace-xray build", "-fxray-instrument", "every tenth of a second"] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn hints_depend_on_the_time_for_which_a_program_was_traced() {
        assert_eq!(named(1, 100), (true, false), "the guard was dropped");
        assert_eq!(named(50, 2000), (true, false), "and the machine was busy");
        assert_eq!(named(1, 1), (true, true), "a short program");
        assert_eq!(named(50, 10), (false, true));
        assert_eq!(named(2000, 100_000), (false, true), "one of several programs");
    }
}
