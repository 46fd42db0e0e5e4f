//! Calls that are not recorded: their number is.

use super::{assert_calls, assert_nested, Recorded};
use crate::harness::{trace, Run};

/// Checks that the program's events, `trace check` and the summary have this number.
#[track_caller]
fn check_missed(recorded: &Recorded, expected: u64) {
    let events = recorded.archive.only().named("calls not recorded");
    assert_eq!(events.map(|event| event.numbers["number"]).sum::<u64>(), expected);
    let check = Run::of(trace(&["check"]).arg(recorded.directory.path().join("app.fxt"))).stdout();
    let has_line = check.lines().any(|line| line == format!("calls not recorded: {expected}"));
    assert_eq!(has_line, expected > 0, "{check}");
    let summary = recorded.messages.replace(',', "");
    assert_eq!(
        summary.contains(&format!("not recorded: {expected} calls")),
        expected > 0,
        "{summary}"
    );
}

/// There is memory for 16,384 open calls of a thread.
#[test]
fn calls_inside_of_too_many_are_counted() {
    let recorded = Recorded::new(&["--functions", "main::deep"], &["deep", "20000"]);
    assert_eq!(recorded.output, "20000\n");
    assert_calls(&recorded.calls(), &[("main::deep", 16_384)]);
    check_missed(&recorded, 20_000 - 16_384);
}

/// Each function of the program is interrupted, and so is the recording of calls, in which the
/// handler is not recorded.
#[test]
fn a_handler_on_a_signal_stack_interrupts_the_recording() {
    let options = ["--functions", "main::timer::*,-*::interrupted", "-b", "64M"];
    let recorded = Recorded::new(&options, &["timer", "2000"]);
    let numbers: Vec<usize> =
        recorded.output.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let [number, ticks] = numbers[..] else { panic!("{}", recorded.output) };
    let calls = recorded.calls();
    let each = ["outer", "middle", "inner"].map(|name| format!("main::timer::{name}"));
    assert_calls(&calls, &each.each_ref().map(|name| (name.as_str(), number)));
    let [tick, inside] = ["main::timer::tick", "main::timer::in_tick"].map(|name| calls[name]);
    assert!(0 < tick && tick <= ticks && inside == tick, "{tick} {inside} of {ticks}");
    check_missed(&recorded, 2 * (ticks - tick) as u64);
    assert_nested(recorded.archive.only());
}
