//! `trace record` is killed, alone or with the program that it records, at moments of chance; the
//! guard completes the archive. Every number that a program is known to have recorded is there
//! once.

mod hostile;
mod memory;
mod numbers;
mod program;
mod stage;

use std::time::Duration;

use hostile::Crowd;
use memory::Group;
use numbers::Numbers;
use stage::{Chance, Stage};

/// Rounds for each mode and way of killing.
const ROUNDS: usize = 12;

const MODES: [&str; 3] = ["streaming", "circular", "oneshot"];

/// Who is killed, in this order, at once or a moment apart.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Victims {
    Manager,
    ProgramAndManager,
    ManagerAndProgram,
    Both,
    Group,
}

fn rounds(victims: Victims) {
    let mut chance = Chance::new(victims as u64);
    for mode in MODES {
        let mut exact = 0;
        for round in 0..ROUNDS {
            let context = format!("{mode}, {victims:?}, round {round}");
            let stage = Stage::start(mode, stage::SIZES[round % stage::SIZES.len()]);
            stage.wait_for_numbers(chance.up_to(20_000));
            std::thread::sleep(chance.time(Duration::from_millis(20)));
            let known = kill(&stage, victims, chance.time(Duration::from_millis(3)));
            stage.wait_for_archive(&context);
            let numbers = Numbers::read(&stage.archive());
            exact += usize::from(numbers.check(mode, &known, &context));
            stage.check_archive(&context);
            assert_eq!(stage.private_places(), 0, "{context}");
            if victims == Victims::Manager {
                stage.program_goes_on();
            }
        }
        // A busy machine keeps a program's buffers waiting, but not every time.
        assert!(exact != 0, "{mode}: each time numbers were dropped");
    }
}

/// Kills, and returns what was recorded for certain.
fn kill(stage: &Stage, victims: Victims, apart: Duration) -> Vec<u64> {
    let known = stage.published();
    match victims {
        Victims::Manager => stage.kill_manager(),
        Victims::ProgramAndManager => {
            stage.kill_program();
            std::thread::sleep(apart);
            stage.kill_manager();
            // Nothing was recorded without a session before the program's end.
            return stage.published();
        }
        Victims::ManagerAndProgram => {
            stage.kill_manager();
            std::thread::sleep(apart);
            stage.kill_program();
        }
        Victims::Group => stage.kill_group(),
        Victims::Both => std::thread::scope(|scope| {
            scope.spawn(|| stage.kill_program());
            stage.kill_manager();
        }),
    }
    known
}

#[test]
fn the_manager_is_killed() {
    rounds(Victims::Manager);
}

#[test]
fn the_program_is_killed_and_then_the_manager() {
    rounds(Victims::ProgramAndManager);
}

#[test]
fn the_manager_is_killed_and_then_the_program() {
    rounds(Victims::ManagerAndProgram);
}

#[test]
fn both_are_killed_at_once() {
    rounds(Victims::Both);
}

#[test]
fn the_whole_process_group_is_killed() {
    rounds(Victims::Group);
}

#[test]
fn the_next_manager_at_the_same_socket_goes_on() {
    let stage = Stage::with_program_apart("streaming", "1M");
    stage.wait_for_numbers(5000);
    let known = stage.published();
    stage.kill_manager();
    let second = stage.record_again(Duration::from_millis(200));
    stage.wait_for_archive("the first");
    let first = Numbers::read(&stage.archive());
    first.check("streaming", &known, "the first");
    let second = Numbers::read(&second);
    assert!(second.is_later_than(&first), "{second:?} after {first:?}");
}

#[test]
fn the_same_name_can_be_recorded_again_at_once() {
    let stage = Stage::with_program_apart("oneshot", "16M");
    stage.wait_for_numbers(5000);
    stage.kill_manager();
    // It has the name last, or the guard has: each leaves a whole archive there.
    stage.record_to(&stage.archive(), Duration::from_millis(100));
    stage.wait_for_guard_to_end();
    stage.check_archive("the name's last archive");
    assert_eq!(stage.partial_archives(), 0);
}

#[test]
fn a_guard_that_is_killed_does_no_harm() {
    let mut stage = Stage::start("streaming", "1M");
    stage.wait_for_numbers(5000);
    stage.kill_guard();
    let before = stage.published();
    stage.wait_for_numbers(before.iter().min().unwrap() + 20_000);
    let known = stage.published();
    stage.stop_recording();
    let numbers = Numbers::read(&stage.archive());
    numbers.check("streaming", &known, "without a guard");
}

#[test]
fn the_guard_ends_with_the_session_and_says_nothing() {
    let mut stage = Stage::start("streaming", "1M");
    stage.wait_for_numbers(5000);
    let guard = stage.guard().expect("there is a guard");
    stage.stop_recording();
    assert!(!stage::is_running(guard));
    assert!(!stage.stderr().contains("killed"), "{}", stage.stderr());
    assert_eq!(stage.partial_archives(), 0);
}

#[test]
fn a_pipe_is_not_completed_and_it_is_said() {
    let stage = Stage::to_a_pipe();
    stage.wait_for_numbers(5000);
    stage.kill_manager();
    stage.wait_for_guard_to_end();
    assert!(stage.stderr().contains("the archive in the pipe"), "{}", stage.stderr());
}

/// Not a test: what the tests record.
#[test]
#[ignore = "the program that the tests run"]
fn traced_program() {
    program::run();
}

/// Programs that take what they can get harm no other one, also where the manager is killed, for
/// its memory or anything else.
#[test]
fn hostile_connections_harm_no_other_program() {
    let mut stage = Stage::waiting_with_memory(600 << 20, "4M");
    let crowd = Crowd::at(&stage.socket());
    stage.start_program();
    let context = "a crowd of connections";
    stage.wait_for_numbers(20_000);
    let known = stage.published();
    stage.kill_manager();
    drop(crowd);
    stage.wait_for_archive(context);
    Numbers::read(&stage.archive()).check("streaming", &known, context);
    stage.check_archive(context);
    stage.program_goes_on();
}

/// The kernel kills the manager while it takes what the program has recorded.
#[test]
fn the_manager_is_killed_for_its_memory() {
    let group = match Group::new() {
        Ok(group) => group,
        Err(error) => {
            return eprintln!("skipped: no control group with a limit of memory: {error}")
        }
    };
    let stage = Stage::with_program_apart("streaming", "4M");
    stage.wait_for_numbers(1000);
    stage.starve_manager(&group);
    stage.wait_for_manager_to_die();
    let known = stage.published();
    let context = "killed for its memory";
    assert_eq!(group.killed(), 1, "{context}");
    stage.wait_for_archive(context);
    Numbers::read(&stage.archive()).check("streaming", &known, context);
    stage.check_archive(context);
    stage.program_goes_on();
}
