//! Sessions that keep their limit themselves, because the program streams: what is beyond it is
//! reported, whoever completes the archive.

use std::time::Duration;

use crate::numbers::Numbers;
use crate::stage::{Chance, Stage};

const ROUNDS: usize = 6;

/// More numbers of each thread than a session of a megabyte keeps.
const MANY: u64 = 40_000;

/// Kills the manager of such a session, and returns what is in its archive.
fn killed(mode: &str, chance: &mut Chance, context: &str) -> Numbers {
    let stage = Stage::shared(mode, "1M");
    stage.wait_for_numbers(MANY + chance.up_to(20_000));
    std::thread::sleep(chance.time(Duration::from_millis(20)));
    let known = stage.published();
    stage.kill_manager();
    stage.wait_for_archive(context);
    let numbers = Numbers::read(&stage.archive());
    numbers.check(mode, &known, context);
    stage.check_archive(context);
    numbers
}

#[test]
fn records_beyond_the_limit_of_a_oneshot_session_are_reported() {
    let mut chance = Chance::new(11);
    for round in 0..ROUNDS {
        let context = format!("oneshot, round {round}");
        let numbers = killed("oneshot", &mut chance, &context);
        assert!(numbers.have_no_gap(), "{context}: {numbers:?}");
        assert!(numbers.reported().0 > 0, "{context}: {numbers:?}");
    }
}

#[test]
fn older_records_than_those_of_a_circular_session_are_reported() {
    let mut chance = Chance::new(12);
    for round in 0..ROUNDS {
        let context = format!("circular, round {round}");
        let numbers = killed("circular", &mut chance, &context);
        let (dropped, overwritten) = numbers.reported();
        assert!(dropped > 0 || numbers.have_no_gap(), "{context}: {numbers:?}");
        assert!(overwritten > 0, "{context}: {numbers:?}");
    }
}
