//! Rows of values, and self time.

use trace_format::{Argument, Arguments, Value};

use super::*;
use crate::stats::By;

/// A duration with an argument, and a duration in it.
struct Call<'a> {
    /// The argument, unless it is empty.
    url: &'a str,
    /// The self time.
    own: u64,
    inner: u64,
}

/// Returns the durations of calls, `outer` and `inner`, one call after the other.
fn records(calls: &[Call<'_>]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let mut ticks = 0;
    for call in calls {
        let mut add = |name: &'static str, ticks: u64, end: u64| {
            let url = [Argument::new("url", Value::String(call.url.into()))];
            let (thread, category) = (Thread::Inline(ThreadKoids::new(1, 1)), "app".into());
            let (name, kind) = (name.into(), EventKind::DurationComplete { end });
            let arguments = if call.url.is_empty() { Arguments::NONE } else { (&url).into() };
            let event = Event { ticks, thread, category, name, kind, arguments };
            writer.record(&event.into()).unwrap();
        };
        let end = ticks + call.own + call.inner;
        add("outer", ticks, end);
        add("inner", ticks + call.own, end);
        ticks = end + 1_000_000;
    }
    writer.into_inner()
}

fn by_url(archive: &[u8], measure: Measure) -> Report {
    let groups = Groups::read(By::Argument("url"), Reader::new(archive)).unwrap();
    read(Reader::new(archive), groups, measure).unwrap()
}

fn together(archive: &[u8], measure: Measure) -> Report {
    read(Reader::new(archive), Grouping::Together, measure).unwrap()
}

/// Returns name, value and verdict of each row.
fn verdicts(changes: &[Change]) -> Vec<(&str, Option<&str>, Verdict)> {
    let mut verdicts: Vec<_> = changes
        .iter()
        .map(|change| {
            (&*change.name, change.value.as_ref().map(GroupValue::as_str), change.verdict)
        })
        .collect();
    verdicts.sort_by_key(|(name, value, _)| (*name, *value));
    verdicts
}

/// A fourth of the calls take longer: those with one value. The median of all calls does not
/// change.
#[test]
fn one_value_of_an_argument_is_slower() {
    let run = |cart: u64| {
        let call = |number: u64| {
            let (url, own) = if number % 4 == 0 { ("/cart", cart) } else { ("/item", 20_000) };
            Call { url, own: own + number % 7, inner: 10_000 + number % 5 }
        };
        records(&(0..1000).map(call).collect::<Vec<_>>())
    };
    let (before, after) = (run(15_000), run(19_000));
    let compared = |read: fn(&[u8], Measure) -> Report| {
        let sides = [&before, &after].map(|archive| [read(archive, Measure::Length)]);
        compare(&sides[0], &sides[1], &NO_RUN_NOISE)
    };
    assert_eq!(
        verdicts(&compared(together)),
        [("inner", None, Verdict::Alike), ("outer", None, Verdict::Unclear)]
    );
    assert_eq!(
        verdicts(&compared(by_url)),
        [
            ("inner", Some("/cart"), Verdict::Alike),
            ("inner", Some("/item"), Verdict::Alike),
            ("outer", Some("/cart"), Verdict::Slower),
            ("outer", Some("/item"), Verdict::Alike),
        ]
    );
}

/// The outer duration takes longer only because the inner one does.
#[test]
fn self_time_shows_which_duration_is_slower() {
    let run = |inner: u64| {
        let call =
            |number: u64| Call { url: "/", own: 20_000 + number % 7, inner: inner + number % 5 };
        records(&(0..400).map(call).collect::<Vec<_>>())
    };
    let compared = |measure: Measure| {
        let sides = [10_000, 20_000].map(|inner| [together(&run(inner), measure)]);
        compare(&sides[0], &sides[1], &NO_RUN_NOISE)
    };
    assert_eq!(
        verdicts(&compared(Measure::Length)),
        [("inner", None, Verdict::Slower), ("outer", None, Verdict::Slower)]
    );
    let of_self = compared(Measure::SelfTime);
    assert_eq!(
        verdicts(&of_self),
        [("inner", None, Verdict::Slower), ("outer", None, Verdict::Alike)]
    );
    let outer = of_self.iter().find(|change| change.name == "outer").unwrap();
    assert_eq!(outer.before.quantile(0.5), 20_003);
}

/// A value beyond the first 1000 of a run has no row there: it is not new, and the values that
/// share a row differ between runs.
#[test]
fn values_beyond_the_limit_are_not_compared() {
    let run = |first: u64| {
        let urls: Vec<String> = (first..first + 1001).map(|number| format!("/{number}")).collect();
        let call = |url| Call { url, own: 20_000, inner: 10_000 };
        records(&urls.iter().map(|url| call(url)).collect::<Vec<_>>())
    };
    let sides = [run(0), run(1)].map(|archive| [by_url(&archive, Measure::Length)]);
    assert_eq!(sides[0][0].other_values, 2);
    let changes = compare(&sides[0], &sides[1], &Options::default());
    let verdict = |value: &str| {
        let mut of_value = changes
            .iter()
            .filter(|change| change.value.as_ref().map(GroupValue::as_str) == Some(value));
        of_value.next().map(|change| change.verdict)
    };
    assert_eq!(verdict("/1000"), Some(Verdict::Unclear));
    assert_eq!(verdict("/0"), Some(Verdict::Unclear));
    assert_eq!(verdict("(other values)"), None);
}

/// An argument can have the text that tables print for durations without it.
#[test]
fn a_value_is_not_the_absence_of_one() {
    let calls: Vec<Call<'_>> = (0..200)
        .map(|number| match number % 2 {
            0 => Call { url: "", own: 20_000, inner: 10_000 },
            _ => Call { url: "(none)", own: 40_000, inner: 10_000 },
        })
        .collect();
    let report = [by_url(&records(&calls), Measure::SelfTime)];
    let changes = compare(&report, &report, &Options::default());
    let outer = |value: &GroupValue| {
        let is_row = |row: &&Change| row.name == "outer" && row.value.as_ref() == Some(value);
        let row = changes.iter().find(is_row).unwrap();
        (row.before.count(), row.before.quantile(0.5), row.to_json()["value"].clone())
    };
    assert_eq!(outer(&GroupValue::None), (100, 20_000, serde_json::Value::Null));
    assert_eq!(outer(&GroupValue::Text("(none)".to_owned())), (100, 40_000, "(none)".into()));
}
