//! The live display: one line on standard error, if that is a terminal.

use std::io::IsTerminal;

use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use trace_manager::Progress;

/// Shows a session's progress.
pub(super) struct Meter {
    bar: ProgressBar,
}

impl Meter {
    pub(super) fn new() -> Self {
        let target = match std::io::stderr().is_terminal() {
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
        let lost = match progress.lost {
            0 => String::new(),
            lost => format!(", {} lost", HumanCount(lost)),
        };
        let Progress { providers, joined, events, bytes, .. } = progress;
        let programs = if providers == joined {
            format!("{providers}")
        } else {
            format!("{providers} of {joined}")
        };
        let (events, bytes) = (HumanCount(*events), HumanBytes(*bytes));
        self.bar.set_message(format!("{programs} programs, {events} events, {bytes}{lost}"));
        self.bar.tick();
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
