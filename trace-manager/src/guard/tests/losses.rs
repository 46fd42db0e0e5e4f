//! Losses that the provider, the manager or the guard reports.

use super::*;

use crate::fixture::{write_loss_report, write_reported_losses};

/// The provider reports losses from before it joined the session. Then it loses others, of which
/// the report is not read.
#[test]
fn losses_from_before_the_session_hide_no_later_ones() {
    let (directory, mode) = (tempfile::tempdir().unwrap(), BufferingMode::Streaming);
    let manager = Manager::join(directory, mode, Some(5));
    manager.record(1, 101);
    write_loss_report(&manager.buffer, &layout(mode), 0, 5);
    write_reported_losses(&manager.buffer, &layout(mode), 8);
    let (outcome, path, _directory) = manager.die();
    assert!(matches!(outcome, GuardOutcome::Completed { .. }), "{outcome:?}");
    let (_, others, _) = read(&path);
    assert_eq!(others.iter().filter(|it| *it == "records dropped").count(), 2, "{others:?}");
}

/// A thread whose losses from before the session are in no event.
#[test]
fn losses_that_were_never_reported_before_the_session_hide_no_later_reports() {
    let (directory, mode) = (tempfile::tempdir().unwrap(), BufferingMode::Streaming);
    let manager = Manager::join(directory, mode, Some(5));
    write_loss_report(&manager.buffer, &layout(mode), 0, 3);
    // The times are those before the session joined.
    let silent = [1 << 32 | 4713, 5, 1, 2, 0, 1];
    let place = layout(mode).losses_offset() as u64 + 8 * 8;
    manager.buffer.write_at(as_bytes(&silent), place).unwrap();
    manager.record(1, 101);
    let (outcome, path, _directory) = manager.die();
    assert!(matches!(outcome, GuardOutcome::Completed { .. }), "{outcome:?}");
    let (_, others, _) = read(&path);
    assert_eq!(others.iter().filter(|it| *it == "records dropped").count(), 1, "{others:?}");
}

#[test]
fn lost_copies_are_counted_and_reported() {
    let mut manager = Manager::start(BufferingMode::Streaming);
    manager.open();
    manager.record(0, 100);
    let _heap = manager.collector.copy_rolling(0);
    manager.ledger.copied(0, false);
    manager.record(1, 101);
    let (outcome, path, _directory) = manager.die();
    assert!(matches!(outcome, GuardOutcome::Completed { missing: 1, .. }), "{outcome:?}");
    let (times, others, _) = read(&path);
    assert_eq!(times, [101]);
    assert_eq!(others, ["clock anchor", "buffers lost: recorder killed", "clock anchor"]);
}

/// The moment of a manager's death.
#[derive(Debug, Clone, Copy)]
enum Death {
    BeforeTheWrite,
    /// The valid length has reached the block's end, and nothing else is noted.
    BeforeTheNote,
    AfterTheNote,
}

/// A copy in the manager's own memory has the provider's report of losses.
fn reports_of_losses_after(death: Death) -> usize {
    let mut manager = Manager::start(BufferingMode::Streaming);
    manager.open();
    write_loss_report(&manager.buffer, &layout(BufferingMode::Streaming), 0, 5);
    let copy = manager.collector.copy_rolling(0);
    manager.ledger.copied(0, false);
    let mut words = Vec::new();
    manager.collector.sanitize(copy, &mut words);
    let reported = manager.collector.stats().reported_losses;
    assert_eq!(reported, 5);
    let update = manager.ledger.save(Vec::new(), reported);
    manager.write(&words, Some(&update), matches!(death, Death::AfterTheNote));
    if let Death::BeforeTheNote = death {
        manager.handle.after_write(None, manager.length + words.len() as u64 * 8);
    }
    manager.record(1, 101);
    let (outcome, path, _directory) = manager.die();
    let lost = u64::from(matches!(death, Death::BeforeTheWrite));
    assert!(
        matches!(outcome, GuardOutcome::Completed { missing, .. } if missing == lost),
        "{death:?}: {outcome:?}"
    );
    let (times, others, _) = read(&path);
    assert_eq!(times, [101]);
    let number = |name: &str| others.iter().filter(|it| *it == name).count();
    assert_eq!(number("buffers lost: recorder killed") as u64, lost, "{death:?}");
    number("records dropped")
}

#[test]
fn a_loss_whose_report_is_lost_is_reported_once() {
    for death in [Death::BeforeTheWrite, Death::BeforeTheNote, Death::AfterTheNote] {
        assert_eq!(reports_of_losses_after(death), 1, "{death:?}");
    }
}
