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
fn alerts_without_a_trigger_do_nothing() {
    let mut triggers = triggers(&[("slow", TriggerAction::Stop)]);
    assert_eq!(triggers.alert("slo"), []);
    assert_eq!(triggers.alert("slow"), [stop("slow")]);
}

#[test]
fn an_alert_with_both_is_kept_before_it_stops() {
    let both = [("slow", TriggerAction::Stop), ("slow", TriggerAction::Snapshot)];
    assert_eq!(triggers(&both).alert("slow"), [snapshot(1, &["slow"]), stop("slow")]);
}

#[test]
fn alerts_that_come_while_a_snapshot_is_written_have_the_next_one_together() {
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
fn what_waits_at_the_end_is_told() {
    let mut triggers = triggers(&[("a", TriggerAction::Snapshot)]);
    triggers.alert("a");
    assert_eq!(triggers.alert("a"), []);
    assert_eq!(triggers.end(), ["a"]);
    assert_eq!(triggers.written(), None);
    assert_eq!(triggers.alert("a"), []);
}

#[test]
fn snapshots_do_not_go_on_for_ever() {
    let mut triggers = triggers(&[("a", TriggerAction::Snapshot)]);
    for number in 1..=MAX_SNAPSHOTS {
        assert_eq!(triggers.alert("a"), [snapshot(number, &["a"])]);
        assert_eq!(triggers.written(), None);
    }
    assert_eq!(triggers.alert("a"), [Reaction::LimitReached { alert: "a".to_owned() }]);
    assert_eq!(triggers.alert("a"), [], "said once");
    assert_eq!(triggers.written(), None);
}
