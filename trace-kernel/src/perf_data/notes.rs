//! What an archive says about the file that it was made of, as log records.

use super::attribute::Attribute;
use super::features::Description;
use super::sample::{has_cpu, has_time};

/// What is missing in the archive.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// The bytes of data of processors, such as packets of Intel PT.
    pub(super) aux_bytes: u64,
    /// The number of samples of events that the file does not describe.
    pub(super) unknown: u64,
    /// The number of samples of guests and the hypervisor.
    pub(super) outside: u64,
    /// Whether perf was killed before it completed the file.
    pub(super) is_incomplete: bool,
}

/// Returns the lines at the start.
pub(super) fn at_start(
    description: &Description,
    attributes: &[Attribute],
    profile: &[bool],
) -> Vec<String> {
    let mut lines = vec![origin(description), clock(attributes)];
    if attributes.iter().any(|it| !has_time(it)) {
        lines.push("records without a time have that of the record before".to_owned());
    }
    let has_place = |it: &Attribute| has_cpu(it) || !(it.has_switches() || it.is_tracepoint());
    if !attributes.iter().all(has_place) {
        lines.push(
            "CPUs of switches and tracepoints are unknown: their numbers are made up".to_owned(),
        );
    }
    lines.extend(of_profile(attributes, profile));
    lines
}

fn origin(description: &Description) -> String {
    let Description { host, release, version, architecture, command, .. } = description;
    let known = |text: &str| if text.is_empty() { "unknown".to_owned() } else { text.to_owned() };
    let (version, host, command) = (known(version), known(host), known(command));
    let kernel = [&**release, architecture].join(" ");
    format!("perf {version} on {host} (kernel {}): {command}", known(kernel.trim()))
}

fn clock(attributes: &[Attribute]) -> String {
    let clock = match attributes.first().and_then(Attribute::clock) {
        None => "of perf, the kernel's local_clock()".to_owned(),
        Some(0) => "CLOCK_REALTIME".to_owned(),
        Some(1) => "CLOCK_MONOTONIC".to_owned(),
        Some(4) => "CLOCK_MONOTONIC_RAW".to_owned(),
        Some(7) => "CLOCK_BOOTTIME".to_owned(),
        Some(11) => "CLOCK_TAI".to_owned(),
        Some(number) => number.to_string(),
    };
    format!("times are nanoseconds of the clock {clock}")
}

fn of_profile(attributes: &[Attribute], profile: &[bool]) -> Option<String> {
    let named = |is_in: bool| {
        let samples = attributes.iter().zip(profile).filter(move |(_, it)| **it == is_in);
        let samples = samples.filter(|(it, _)| it.is_sampled() || is_in);
        samples.map(|(it, _)| it.label()).collect::<Vec<_>>().join(", ")
    };
    let (stacks, others) = (named(true), named(false));
    let has_others = !stacks.is_empty() && !others.is_empty();
    has_others.then(|| {
        format!("stacks are samples of {stacks}; those of {others} are instants without a stack")
    })
}

impl Notes {
    /// Returns the lines at the end.
    pub(super) fn at_end(&self, late: u64, omitted_mappings: u64) -> Vec<String> {
        let Self { aux_bytes, unknown, outside, is_incomplete } = *self;
        let lines = [
            (is_incomplete, "perf was killed before it completed the file".to_owned()),
            (
                aux_bytes > 0,
                format!(
                    "{aux_bytes} bytes of AUX data, such as packets of Intel PT, are not decoded; \
                     hint: perf script --itrace decodes them"
                ),
            ),
            (unknown > 0, format!("samples of unknown events: {unknown}")),
            (
                outside > 0,
                format!("samples of guests or the hypervisor, instants without a stack: {outside}"),
            ),
            (late > 0, format!("records that are not in the order of time: {late}")),
            (
                omitted_mappings > 0,
                format!("mapped files beyond the limit of memory: {omitted_mappings}"),
            ),
        ];
        lines.into_iter().filter_map(|(is_set, line)| is_set.then_some(line)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recording_is_described() {
        let mut description = Description::default();
        let one = Attribute { rate: 1, name: "cycles".into(), ..Attribute::default() };
        let two = Attribute { config: 1, name: "faults".into(), ..one.clone() };
        let lines = at_start(&description, &[one.clone(), two], &[true, false]);
        assert_eq!(lines[0], "perf unknown on unknown (kernel unknown): unknown");
        let expected = "stacks are samples of cycles; those of faults are instants without a stack";
        assert_eq!(lines.last().unwrap(), expected);
        description.version = "6.1".to_owned();
        description.release = "6.18".to_owned();
        let lines = at_start(&description, &[one], &[true]);
        assert_eq!(lines[0], "perf 6.1 on unknown (kernel 6.18): unknown");
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn only_what_is_missing_is_reported() {
        assert!(Notes::default().at_end(0, 0).is_empty());
        let notes = Notes { aux_bytes: 5, unknown: 1, outside: 1, is_incomplete: true };
        assert_eq!(notes.at_end(1, 1).len(), 6);
    }
}
