use super::*;
use crate::trigger::Cause;

/// The time between the starts of two snapshots.
const INTERVAL: Time = Time::from_secs(1);

/// A time after that of any snapshot before.
const LATER: Time = Time::from_secs(1000);

fn triggers(list: &[(&str, TriggerAction)]) -> Triggers {
    let trigger = |(alert, action): &(&str, TriggerAction)| Trigger {
        alert: (*alert).to_owned(),
        action: *action,
    };
    Triggers::new(list.iter().map(trigger).collect(), INTERVAL)
}

fn cause(alert: &str) -> Cause {
    Cause::Alert(alert.to_owned())
}

fn snapshot(alerts: &[&str]) -> Reaction {
    Reaction::Snapshot { causes: alerts.iter().map(|alert| cause(alert)).collect() }
}

fn stop(alert: &str) -> Reaction {
    Reaction::Stop { cause: cause(alert) }
}

/// Notes that a snapshot is written, and returns the next one.
fn written(triggers: &mut Triggers, now: Time) -> Option<Reaction> {
    triggers.written();
    triggers.next(now)
}

#[test]
fn alerts_without_a_trigger_have_no_effect() {
    let mut triggers = triggers(&[("slow", TriggerAction::Stop)]);
    assert_eq!(triggers.alert("slo", LATER), []);
    assert_eq!(triggers.alert("slow", LATER), [stop("slow")]);
}

#[test]
fn a_snapshot_is_taken_before_the_session_stops() {
    let both = [("slow", TriggerAction::Stop), ("slow", TriggerAction::Snapshot)];
    assert_eq!(triggers(&both).alert("slow", LATER), [snapshot(&["slow"]), stop("slow")]);
}

#[test]
fn alerts_during_a_snapshot_share_the_next_one() {
    let mut triggers = triggers(&[("a", TriggerAction::Snapshot), ("b", TriggerAction::Snapshot)]);
    assert_eq!(triggers.alert("a", LATER), [snapshot(&["a"])]);
    for name in ["b", "a", "b", "b"] {
        assert_eq!(triggers.alert(name, LATER + INTERVAL), []);
    }
    assert_eq!(written(&mut triggers, LATER + INTERVAL), Some(snapshot(&["b", "a"])));
    assert_eq!(triggers.alert("b", LATER + 2 * INTERVAL), []);
    assert_eq!(written(&mut triggers, LATER + 2 * INTERVAL), Some(snapshot(&["b"])));
    assert_eq!(written(&mut triggers, LATER + 3 * INTERVAL), None);
    assert_eq!(triggers.alert("a", LATER + 3 * INTERVAL), [snapshot(&["a"])]);
}

#[test]
fn snapshots_of_alerts_start_an_interval_apart() {
    let mut triggers = triggers(&[("a", TriggerAction::Snapshot)]);
    assert_eq!(triggers.alert("a", LATER), [snapshot(&["a"])]);
    assert_eq!(written(&mut triggers, LATER), None);
    let early = LATER + INTERVAL - Time::from_nanos(1);
    assert_eq!(triggers.alert("a", early), []);
    assert_eq!(triggers.next(early), None);
    assert_eq!(triggers.next(LATER + INTERVAL), Some(snapshot(&["a"])));
    assert_eq!(triggers.next(LATER + 9 * INTERVAL), None, "it is still written");
}

#[test]
fn a_trigger_does_not_shorten_the_interval_of_another() {
    let rules = ["every:2s:min-interval=1h", "every:3s:min-interval=1ms", "drop", "log:error"];
    let rules = rules.map(|rule| rule.parse().unwrap());
    let mut triggers = Triggers::new(Vec::new(), INTERVAL).with_rules(&rules);
    let cause = |text: &str| Cause::Condition(text.to_owned());
    let of =
        |texts: &[&str]| Reaction::Snapshot { causes: texts.iter().copied().map(cause).collect() };
    let mut now = LATER;
    assert_eq!(triggers.condition("every:2s", now), [of(&["every:2s"])]);
    for condition in ["every:2s", "drop", "log:error", "every:3s"] {
        assert_eq!(triggers.condition(condition, now), []);
    }
    assert_eq!(written(&mut triggers, now), Some(of(&["drop", "log:error", "every:3s"])));
    assert_eq!(triggers.condition("drop", now), []);
    now += Time::from_nanos(500_000_000);
    assert_eq!(triggers.condition("every:3s", now), []);
    assert_eq!(written(&mut triggers, now), Some(of(&["every:3s"])));
    assert_eq!(written(&mut triggers, now + INTERVAL), Some(of(&["drop"])));
    assert_eq!(written(&mut triggers, LATER + 3600 * INTERVAL), Some(of(&["every:2s"])));
}

#[test]
fn a_requested_snapshot_waits_for_the_one_that_is_written_only() {
    let mut triggers = triggers(&[("a", TriggerAction::Snapshot)]);
    assert_eq!(triggers.alert("a", LATER), [snapshot(&["a"])]);
    triggers.request();
    assert_eq!(triggers.alert("a", LATER), []);
    assert_eq!(triggers.next(LATER), None);
    assert_eq!(written(&mut triggers, LATER), Some(snapshot(&[])));
    assert_eq!(written(&mut triggers, LATER), None);
    assert_eq!(triggers.next(LATER + INTERVAL), Some(snapshot(&["a"])));
}

#[test]
fn snapshots_that_wait_at_the_end_are_returned() {
    let mut triggers = triggers(&[("a", TriggerAction::Snapshot)]);
    triggers.alert("a", LATER);
    assert_eq!(triggers.alert("a", LATER), []);
    triggers.request();
    assert_eq!(triggers.end(), [vec![], vec![cause("a")]]);
    assert_eq!(written(&mut triggers, LATER + INTERVAL), None);
    assert_eq!(triggers.alert("a", LATER + INTERVAL), []);
}

#[test]
fn a_snapshot_has_at_most_a_hundred_alerts() {
    let names: Vec<String> = (0..=101).map(|number| number.to_string()).collect();
    let list: Vec<_> = names.iter().map(|name| (name.as_str(), TriggerAction::Snapshot)).collect();
    let mut triggers = triggers(&list);
    for name in &names {
        triggers.alert(name, LATER);
    }
    let next = written(&mut triggers, LATER + INTERVAL);
    let Some(Reaction::Snapshot { causes }) = next else { panic!("{next:?}") };
    let names: Vec<Cause> = names[1..=100].iter().map(|name| cause(name)).collect();
    assert_eq!(causes, names);
}
