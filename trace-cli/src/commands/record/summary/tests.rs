use std::time::Duration;

use trace_manager::controller::{ArchiveFailure, Summary};
use trace_manager::Violation;

use super::*;
use crate::message::HINT;

fn provider(end: End, answered_stop: bool) -> ProviderSummary {
    ProviderSummary {
        id: 1,
        pid: 7,
        uid: 0,
        name: "app".to_owned(),
        records: 1,
        events: 1,
        others: 0,
        bytes: 16,
        dropped: 0,
        omitted: Vec::new(),
        rejected: Vec::new(),
        categories: Default::default(),
        known_categories: Vec::new(),
        open_scopes: 0,
        overwritten: 0,
        joined_after: Default::default(),
        left_after: Default::default(),
        answered_start: true,
        answered_stop,
        buffer_size: 4096,
        wrapped_count: 0,
        dropped_by_reason: Vec::new(),
        durable_used: 0,
        durable_size: 4096,
        end,
    }
}

fn report(output: &Path) -> Report<'_> {
    Report {
        output,
        triggers: &[],
        command: &[],
        xray: false,
        functions: None,
        json: false,
        quiet: false,
        logs: None,
        kernel: None,
    }
}

/// It was discarded if it has no bytes.
#[test]
fn an_archive_is_named_if_it_exists() {
    for (bytes, is_named) in [(64, true), (0, false)] {
        let mut summary = SessionSummary::from(Summary { bytes, ..Summary::default() });
        summary.providers.push(provider(End::Terminated, true));
        let report = report(Path::new("a.fxt"));
        assert_eq!(as_text(&report, &summary).contains("a.fxt"), is_named);
    }
}

/// The kernel's text of the error has its number.
#[test]
fn a_failed_archive_has_its_complete_parts_and_what_is_missing() {
    let failure = ArchiveFailure {
        reason: "No space left on device (os error 28)".to_owned(),
        bytes: 776,
        is_part: true,
        unwritten: 2001,
        ..ArchiveFailure::default()
    };
    let parts = ["a.1.fxt", "a.2.fxt"].map(str::to_owned).to_vec();
    let failed = Summary { failure: Some(failure), parts, ..Summary::default() };
    let mut summary = SessionSummary::from(failed);
    summary.providers.push(provider(End::Terminated, true));
    let report = report(Path::new("a.fxt"));
    let expected = "  app (7): 1 record, 16 B\n  2 complete parts: a.1.fxt to a.2.fxt\n  \
                    2,001 records are not in the archive\n";
    assert_eq!(as_text(&report, &summary), expected);
    let json = as_json(&report, &summary, &[]);
    assert_eq!((&json["lost"], &json["not_archived"]), (&2001.into(), &2001.into()));
    let error = summary.archive.unwrap_err();
    let expected = "a part of the archive ends after 776 bytes: no space left on device";
    assert_eq!(describe(&error), expected);
}

#[test]
fn only_a_file_can_be_opened() {
    let summary = Summary { bytes: 64, ..Summary::default() };
    let mut summary = SessionSummary::from(summary);
    summary.providers.push(provider(End::Terminated, true));
    let own = std::env::current_exe().unwrap();
    for (path, is_file) in [(&*own, true), (Path::new("socket:[1]"), false)] {
        let text = as_text(&report(path), &summary);
        assert_eq!(text.contains("open it with"), is_file, "{text}");
    }
}

#[test]
fn providers_that_break_the_protocol_are_reported() {
    let version = provider(End::CutOff(Violation::PacketVersion(2)), false);
    let said = misbehavior(&version).unwrap();
    assert!(said.starts_with("app (7) was cut off and its data ignored: uses version 2"));
    assert_eq!(
        provider_json(&version)["cut_off"],
        "uses version 2 of the packet protocol instead of version 1"
    );
    let flood = misbehavior(&provider(End::CutOff(Violation::Flood), false)).unwrap();
    assert!(flood.starts_with("app (7) was cut off: sent too many messages or packets"));
}

/// A program that ends before its large buffer is prepared did not drop its guard.
#[test]
fn a_late_buffer_is_the_reason_for_an_empty_recording() {
    let advice = |buffer_size| {
        let late = ProviderSummary { events: 0, buffer_size, ..provider(End::Disconnected, false) };
        let late = ProviderSummary { answered_start: false, ..late };
        (empty::no_records(&late, Duration::from_secs(2)), misbehavior(&late))
    };
    let hint = "use a smaller buffer (-b): init() waits for one second";
    let (empty, end) = advice(4 << 30);
    assert!(empty.contains(hint) && !empty.contains("guard") && end.is_none());
    let (empty, end) = advice(16 << 20);
    assert!(!empty.contains(hint) && empty.contains("guard"));
    assert!(end.unwrap().ends_with("did not answer the start"));
}

/// Names of functions are a reason only if some are selected, and the program has started.
#[test]
fn an_empty_recording_of_functions_has_its_reason() {
    let started = ProviderSummary { events: 0, ..provider(End::Disconnected, true) };
    let all = empty::no_calls(&started, None, &[]);
    assert!(all.contains("no function with sleds was called") && !all.contains("--functions"));
    let some = empty::no_calls(&started, Some("app::*"), &[]);
    assert!(some.contains("no function that --functions 'app::*' selects"), "{some}");
    let late = ProviderSummary { answered_start: false, ..started };
    for functions in [None, Some("*")] {
        let reason = empty::no_calls(&late, functions, &[]);
        assert_eq!(reason, "nothing was recorded: app did not answer the start in time");
    }
    let late = ProviderSummary { buffer_size: 4 << 30, ..late };
    assert!(empty::no_calls(&late, None, &[]).contains("use a smaller buffer (-b)"));
}

#[test]
fn the_name_of_a_program_is_no_hint() {
    let mut hostile = provider(End::TimedOut, false);
    hostile.name = format!("app{HINT}obey");
    assert!(!misbehavior(&hostile).unwrap().contains(HINT));
}

#[test]
fn a_stop_without_an_answer_is_reported() {
    let silent = provider(End::TimedOut, false);
    assert_eq!(
        misbehavior(&silent).unwrap(),
        "app (7) did not answer the stop: its buffer was read unfinished"
    );
    assert_eq!(provider_json(&silent)["end"], "did not answer to stop in time");
    for end in [End::Terminated, End::Disconnected] {
        let orderly = provider(end, true);
        assert_eq!(misbehavior(&orderly), None);
        assert!(provider_json(&orderly)["cut_off"].is_null());
    }
}
