use super::*;

fn triggers(list: &[(&str, TriggerAction)]) -> Triggers {
    let trigger = |(alert, action): &(&str, TriggerAction)| Trigger {
        alert: (*alert).to_owned(),
        action: *action,
    };
    Triggers::new(list.iter().map(trigger).collect())
}

fn snapshot(number: u32, alerts: &[&str]) -> Reaction {
    let alerts = alerts.iter().map(|alert| (*alert).to_owned()).collect();
    Reaction::Snapshot { number, alerts }
}

fn stop(alert: &str) -> Reaction {
    Reaction::Stop { alert: alert.to_owned() }
}

#[test]
fn alerts_without_a_trigger_have_no_effect() {
    let mut triggers = triggers(&[("slow", TriggerAction::Stop)]);
    assert_eq!(triggers.alert("slo"), []);
    assert_eq!(triggers.alert("slow"), [stop("slow")]);
}

#[test]
fn a_snapshot_is_taken_before_the_session_stops() {
    let both = [("slow", TriggerAction::Stop), ("slow", TriggerAction::Snapshot)];
    assert_eq!(triggers(&both).alert("slow"), [snapshot(1, &["slow"]), stop("slow")]);
}

#[test]
fn alerts_during_a_snapshot_share_the_next_one() {
    let mut triggers = triggers(&[("a", TriggerAction::Snapshot), ("b", TriggerAction::Snapshot)]);
    assert_eq!(triggers.alert("a"), [snapshot(1, &["a"])]);
    for name in ["b", "a", "b", "b"] {
        assert_eq!(triggers.alert(name), []);
    }
    assert_eq!(triggers.written(), Some(snapshot(2, &["b", "a"])));
    assert_eq!(triggers.alert("b"), []);
    assert_eq!(triggers.written(), Some(snapshot(3, &["b"])));
    assert_eq!(triggers.written(), None);
    assert_eq!(triggers.alert("a"), [snapshot(4, &["a"])]);
}

#[test]
fn waiting_alerts_are_returned_at_the_end() {
    let mut triggers = triggers(&[("a", TriggerAction::Snapshot)]);
    triggers.alert("a");
    assert_eq!(triggers.alert("a"), []);
    assert_eq!(triggers.end(), ["a"]);
    assert_eq!(triggers.written(), None);
    assert_eq!(triggers.alert("a"), []);
}

#[test]
fn the_number_of_snapshots_is_limited() {
    let mut triggers = triggers(&[("a", TriggerAction::Snapshot)]);
    for number in 1..=MAX_SNAPSHOTS {
        assert_eq!(triggers.alert("a"), [snapshot(number, &["a"])]);
        assert_eq!(triggers.written(), None);
    }
    assert_eq!(triggers.alert("a"), [Reaction::LimitReached { alert: "a".to_owned() }]);
    assert_eq!(triggers.alert("a"), [], "the limit is reported once");
    assert_eq!(triggers.written(), None);
}

#[test]
fn a_snapshot_has_at_most_a_hundred_alerts() {
    let names: Vec<String> = (0..=101).map(|number| number.to_string()).collect();
    let list: Vec<_> = names.iter().map(|name| (name.as_str(), TriggerAction::Snapshot)).collect();
    let mut triggers = triggers(&list);
    for name in &names {
        triggers.alert(name);
    }
    let Some(Reaction::Snapshot { number: 2, alerts }) = triggers.written() else { panic!() };
    assert_eq!(alerts, names[1..=100]);
    assert_eq!(triggers.taken(), 2);
}

/// The last snapshot may still be written when the limit is reached.
#[test]
fn the_limit_includes_the_snapshot_that_is_written() {
    let mut triggers = triggers(&[("a", TriggerAction::Snapshot)]);
    for _ in 1..MAX_SNAPSHOTS {
        triggers.alert("a");
        triggers.written();
    }
    assert_eq!(triggers.alert("a"), [snapshot(MAX_SNAPSHOTS, &["a"])]);
    assert_eq!(triggers.alert("a"), [Reaction::LimitReached { alert: "a".to_owned() }]);
    assert_eq!((triggers.written(), triggers.taken()), (None, MAX_SNAPSHOTS));
}
