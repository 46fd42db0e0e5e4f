//! `trace record` is killed at random moments, alone or with the recorded program, and the guard
//! completes the archive. Each number that the program has recorded is in the archive once.

#[path = "../harness/building.rs"]
mod building;
mod hostile;
mod limited;
mod logs;
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

/// The processes to kill, in this order, at once or a moment apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Victims {
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
                stage.assert_program_continues();
            }
        }
        // On a busy machine a program may drop records, but not in each round.
        assert!(exact != 0, "{mode}: numbers were dropped in each round");
    }
}

/// Kills the victims, and returns the numbers that were recorded for certain.
fn kill(stage: &Stage, victims: Victims, apart: Duration) -> Vec<u64> {
    let known = stage.published();
    match victims {
        Victims::Manager => stage.kill_manager(),
        Victims::ProgramAndManager => {
            stage.kill_program();
            std::thread::sleep(apart);
            stage.kill_manager();
            // The program was killed first, so all published numbers were recorded in the session.
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
fn the_next_manager_can_use_the_same_socket() {
    let stage = Stage::with_program_apart("streaming", "1M");
    stage.wait_for_numbers(5000);
    let known = stage.published();
    stage.kill_manager();
    let second = stage.record_next(Duration::from_secs(3));
    stage.wait_for_archive("the first");
    let first = Numbers::read(&stage.archive());
    first.check("streaming", &known, "the first");
    let second = Numbers::read(&second);
    assert!(second.is_later_than(&first), "{second:?} after {first:?}");
}

#[test]
fn the_same_name_can_be_reused_at_once() {
    let stage = Stage::with_program_apart("oneshot", "16M");
    stage.wait_for_numbers(5000);
    stage.kill_manager();
    // Either the new recording or the guard renames its archive last. Both archives are complete.
    stage.record_to(&stage.archive(), Duration::from_millis(100));
    stage.wait_for_guard_to_end();
    stage.check_archive("the name's last archive");
    assert_eq!(stage.partial_archives(), 0);
}

#[test]
fn a_killed_guard_does_no_harm() {
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
fn the_guard_ends_silently_with_the_session() {
    let mut stage = Stage::start("streaming", "1M");
    stage.wait_for_numbers(5000);
    let guard = stage.guard().expect("there is a guard");
    stage.stop_recording();
    assert!(!stage::is_running(guard));
    assert!(!stage.stderr().contains("killed"), "{}", stage.stderr());
    assert_eq!(stage.partial_archives(), 0);
}

#[test]
fn an_incomplete_archive_in_a_pipe_is_reported() {
    let stage = Stage::to_a_pipe();
    stage.wait_for_numbers(5000);
    stage.kill_manager();
    stage.wait_for_guard_to_end();
    assert!(stage.stderr().contains("the archive in the pipe"), "{}", stage.stderr());
}

/// Not a test: the program that the tests record.
#[test]
#[ignore = "the program that the tests run"]
fn traced_program() {
    program::run();
}

/// Programs that exhaust the manager's resources do not harm others, even if the manager is killed.
#[test]
fn hostile_connections_harm_no_other_program() {
    harm_no_other_program(Stage::waiting_with_memory(600 << 20, "4M"), "in an address space");
}

/// The same in a control group with little memory: the kernel has no reason to kill the manager.
#[test]
fn hostile_connections_do_not_use_up_the_memory_of_a_group() {
    let Some(group) = Group::with(120 << 20) else { return };
    harm_no_other_program(Stage::waiting_in(&group, "4M"), "in a group");
    assert_eq!(group.killed(), 0);
}

fn harm_no_other_program(mut stage: Stage, context: &str) {
    let crowd = Crowd::at(&stage.socket());
    stage.start_program();
    stage.wait_for_numbers(20_000);
    let known = stage.published();
    stage.kill_manager();
    drop(crowd);
    stage.wait_for_archive(context);
    Numbers::read(&stage.archive()).check("streaming", &known, context);
    stage.check_archive(context);
    stage.assert_program_continues();
}

/// The kernel kills the manager while it takes what the program has recorded.
#[test]
fn the_manager_is_killed_for_its_memory() {
    let Some(group) = Group::with(16 << 20) else { return };
    let stage = Stage::with_program_apart("streaming", "4M");
    stage.wait_for_numbers(1000);
    // The program goes on when the manager is dead, and records nothing then.
    let known = stage.published();
    stage.exhaust_memory_of_manager(&group);
    let context = "killed for its memory";
    // The manager and the process that took its memory.
    assert_eq!(group.killed(), 2, "{context}");
    stage.wait_for_archive(context);
    Numbers::read(&stage.archive()).check("streaming", &known, context);
    stage.check_archive(context);
    stage.assert_program_continues();
}
