//! The sources of a recording: one of the kernel's events, samples, and counters.

use trace_protocol::categories::CategorySet;
use trace_protocol::message::ClockSource;

use super::backend::Backend;
use super::categories::{is_of_cpu, SAMPLES};
use super::choice::{choose, Choice, Fallback};
use super::clock::TraceClock;
use super::error::LiveError;
use super::options::Options;
use super::perf::counters::{self, CounterReport, Counters};
use super::perf::samples::{SampleSource, Samples};

/// The sources of a recording.
#[derive(Debug, Default)]
pub(super) struct Sources {
    pub(super) list: Vec<(Box<dyn Backend>, TraceClock)>,
    pub(super) report: SourceReport,
}

/// What a recording uses, and what it cannot use.
#[derive(Debug, Default)]
pub struct SourceReport {
    /// Whether the kernel's thread ids are not those of `/proc`: this process is in a pid
    /// namespace.
    pub has_foreign_ids: bool,
    /// Why tracefs is not used for the kernel's events, if so.
    pub fallback: Option<Fallback>,
    /// The source of samples, if they are selected.
    pub samples: Option<SampleSource>,
    /// What counters lack, if they are selected.
    pub counters: Option<CounterReport>,
    /// Why selected data are not recorded at all, while others are.
    pub refused: Vec<LiveError>,
}

impl Sources {
    /// Opens the sources that `patterns` select.
    ///
    /// # Errors
    ///
    /// None of them can be used.
    pub(super) fn open(
        options: &Options,
        patterns: &[String],
        source: ClockSource,
    ) -> Result<Self, LiveError> {
        let mut sources = Self::default();
        let kernel: Vec<String> =
            patterns.iter().filter(|pattern| !is_of_cpu(pattern)).cloned().collect();
        if kernel.iter().any(|pattern| !pattern.starts_with('-')) {
            match choose(options, &kernel, source) {
                Ok(Choice { backend, clock, fallback }) => {
                    sources.report.has_foreign_ids = !backend.has_ids_of_proc();
                    sources.list.push((backend, clock));
                    sources.report.fallback = fallback;
                }
                Err(error) => sources.report.refused.push(error),
            }
        }
        if CategorySet::new(patterns).matches(SAMPLES) {
            match Samples::open(&options.samples, &options.scope, options.buffer_size) {
                Ok((samples, source)) => {
                    sources.list.push((Box::new(samples), TraceClock::monotonic_raw()));
                    sources.report.samples = Some(source);
                }
                Err(error) => sources.report.refused.push(error),
            }
        }
        if counters::are_selected(patterns) {
            match Counters::open(patterns, &options.scope) {
                Ok((counters, report)) => {
                    sources.list.push((Box::new(counters), TraceClock::monotonic_raw()));
                    sources.report.counters = Some(report);
                }
                Err(error) => sources.report.refused.push(error),
            }
        }
        let refused = &mut sources.report.refused;
        match sources.list.is_empty() && !refused.is_empty() {
            true => Err(refused.remove(0)),
            false => Ok(sources),
        }
    }
}
