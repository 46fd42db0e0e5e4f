//! The progress line on standard error, if that is a terminal.

use std::io::IsTerminal;

use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use trace_manager::Progress;

use crate::cli::RecordArgs;
use crate::message::plural;

/// Shows a session's progress.
pub(super) struct Meter {
    bar: ProgressBar,
}

impl Meter {
    pub(super) fn new(args: &RecordArgs) -> Self {
        let target = match is_shown(args) && std::io::stderr().is_terminal() {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed_precise} {msg}") {
            bar.set_style(style);
        }
        Self { bar }
    }

    /// Updates the line.
    pub(super) fn show(&self, progress: &Progress) {
        self.bar.set_message(line(progress));
        self.bar.tick();
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Returns whether a terminal shows the line. COMMAND inherits standard error, so its output would
/// be mixed with the line. The configuration file may have both switches.
fn is_shown(args: &RecordArgs) -> bool {
    !args.quiet && (args.progress || args.command.is_empty())
}

fn line(progress: &Progress) -> String {
    let lost = match progress.lost {
        0 => String::new(),
        lost => format!(", {} lost", HumanCount(lost)),
    };
    let Progress { providers, joined, events, bytes, .. } = progress;
    let programs = match providers == joined {
        true => format!("{providers}"),
        false => format!("{providers} of {joined}"),
    };
    let program = plural(*joined as u64, "program", "programs");
    let event = plural(*events, "event", "events");
    let (events, bytes) = (HumanCount(*events), HumanBytes(*bytes));
    format!("{programs} {program}, {events} {event}, {bytes}{lost}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use trace_manager::SessionState;

    use super::*;

    #[test]
    fn nouns_are_singular_or_plural() {
        let of = |providers, joined, events, lost| {
            line(&Progress {
                state: SessionState::Started,
                elapsed: Duration::ZERO,
                providers,
                joined,
                events,
                bytes: 8,
                lost,
                refusals: 0,
                last_refusal: None,
                archive_failure: None,
                guard_failure: None,
            })
        };
        assert_eq!(of(1, 1, 1, 0), "1 program, 1 event, 8 B");
        assert_eq!(of(0, 0, 0, 0), "0 programs, 0 events, 8 B");
        assert_eq!(of(0, 1, 2000, 1), "0 of 1 program, 2,000 events, 8 B, 1 lost");
        assert_eq!(of(1, 2, 0, 0), "1 of 2 programs, 0 events, 8 B");
    }
}
