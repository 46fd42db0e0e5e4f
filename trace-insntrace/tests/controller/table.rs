//! Each call in each state. The same table is in `docs/insntrace.md`.

use trace_insntrace::controller::{Call, Controller, Status};

use crate::fake::{Fake, ALL};
use crate::{call_all, ALLOCATE, ASSIGN, BUFFER, CPUS, RELEASE, THREADS};

const STATES: [(&str, &[Call]); 9] = [
    ("idle", &[]),
    ("CPU, no buffers", &[CPUS]),
    ("CPU, ready", &[CPUS, ALLOCATE, ALLOCATE]),
    ("CPU, active", &[CPUS, ALLOCATE, ALLOCATE, Call::Start]),
    ("thread, no buffers", &[THREADS]),
    ("thread, ready", &[THREADS, ALLOCATE]),
    ("thread, assigned", &[THREADS, ALLOCATE, ASSIGN]),
    ("thread, active", &[THREADS, ALLOCATE, Call::Start]),
    ("thread, active and assigned", &[THREADS, ALLOCATE, ASSIGN, Call::Start]),
];

const CALLS: [(&str, Call); 14] = [
    ("Initialize (CPU)", CPUS),
    ("Initialize (thread)", THREADS),
    ("Terminate", Call::Terminate),
    ("GetAllocation", Call::GetAllocation),
    ("AllocateBuffer", ALLOCATE),
    ("AssignThreadBuffer", ASSIGN),
    ("ReleaseThreadBuffer", RELEASE),
    ("GetBufferConfig", Call::GetBufferConfig(BUFFER)),
    ("GetBufferState", Call::GetBufferState(BUFFER)),
    ("GetChunkHandle", Call::GetChunkHandle(BUFFER, 0)),
    ("FreeBuffer", Call::FreeBuffer(BUFFER)),
    ("Start", Call::Start),
    ("Stop", Call::Stop),
    ("GetSideData", Call::GetSideData(BUFFER)),
];

/// By call, then by state.
const RESULTS: [[&str; 9]; 14] = [
    ["ok", BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD],
    ["ok", BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD],
    ["ok", "ok", "ok", "ok", "ok", "ok", BAD, "ok", BAD],
    ["ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok"],
    [BAD, "ok", NONE, NONE, "ok", "ok", "ok", "ok", "ok"],
    [BAD, BAD, BAD, BAD, ARGS, "ok", BAD, "ok", BAD],
    [BAD, BAD, BAD, BAD, ARGS, BAD, "ok", BAD, "ok"],
    [BAD, ARGS, "ok", "ok", ARGS, "ok", "ok", "ok", "ok"],
    [BAD, ARGS, "ok", BAD, ARGS, "ok", "ok", "ok", "ok"],
    [BAD, ARGS, "ok", "ok", ARGS, "ok", "ok", "ok", "ok"],
    [BAD, ARGS, "ok", BAD, ARGS, "ok", BAD, BAD, BAD],
    [BAD, BAD, "ok", BAD, BAD, "ok", "ok", BAD, BAD],
    ["ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok"],
    [BAD, ARGS, "ok", BAD, ARGS, "ok", "ok", BAD, BAD],
];

const BAD: &str = Status::BadState.name();
const ARGS: &str = Status::InvalidArgs.name();
const NONE: &str = Status::NoResources.name();

fn result(before: &[Call], call: Call) -> &'static str {
    let mut controller = Controller::new(Fake::new(ALL));
    call_all(&mut controller, before);
    controller.call(call).map_or_else(Status::name, |_| "ok")
}

#[test]
fn every_call_in_every_state() {
    for ((call, value), results) in CALLS.iter().zip(RESULTS) {
        for ((state, before), expected) in STATES.iter().zip(results) {
            assert_eq!(result(before, *value), expected, "{call} in {state}");
        }
    }
}

#[test]
fn the_table_is_in_the_documentation() {
    let mut rows = vec![row("call", STATES.map(|(state, _)| state))];
    rows.push("|---".repeat(STATES.len() + 1) + "|\n");
    rows.extend(CALLS.iter().zip(RESULTS).map(|((call, _), results)| row(call, results)));
    let table = rows.concat();
    let page = include_str!("../../../docs/insntrace.md");
    assert!(page.contains(&table), "docs/insntrace.md has another table than:\n{table}");
}

fn row(first: &str, cells: [&str; 9]) -> String {
    format!("| {first} | {} |\n", cells.join(" | "))
}

#[test]
fn a_closed_connection_frees_all_buffers() {
    for (state, before) in STATES {
        let fake = Fake::new(ALL);
        let held = fake.held.clone();
        let mut controller = Controller::new(fake);
        call_all(&mut controller, before);
        drop(controller);
        assert!(held.borrow().is_empty(), "{state}: {held:?}");
    }
}

#[test]
fn a_closed_controller_can_be_reused() {
    for (_, before) in STATES {
        let mut controller = Controller::new(Fake::new(ALL));
        call_all(&mut controller, before);
        controller.close();
        assert!(controller.backend().held.borrow().is_empty());
        call_all(&mut controller, before);
    }
}

#[test]
fn a_failed_back_end_call_does_not_change_the_state() {
    let of_buffer = [Call::GetChunkHandle(BUFFER, 0), Call::GetSideData(BUFFER)];
    let may_fail = [ALLOCATE, ASSIGN, Call::Start].into_iter().chain(of_buffer);
    for (state, before) in STATES {
        for call in may_fail.clone().filter(|call| result(before, *call) == "ok") {
            let mut controller = Controller::new(Fake::new(ALL));
            call_all(&mut controller, before);
            controller.backend().held.borrow_mut().failure = Some(Status::NoMemory);
            assert_eq!(controller.call(call), Err(Status::NoMemory), "{call:?} in {state}");
            let retried = controller.call(call).map_or_else(Status::name, |_| "ok");
            assert_eq!(retried, "ok", "{call:?} in {state}");
        }
    }
}

#[test]
fn a_buffer_whose_release_fails_has_no_thread() {
    let releases = STATES.iter().filter(|(_, before)| result(before, RELEASE) == "ok");
    for (state, before) in releases {
        let mut controller = Controller::new(Fake::new(ALL));
        call_all(&mut controller, before);
        controller.backend().held.borrow_mut().failure = Some(Status::AccessDenied);
        assert_eq!(controller.call(RELEASE), Err(Status::AccessDenied), "{state}");
        assert_eq!(controller.call(RELEASE), Err(Status::BadState), "{state}");
    }
}
