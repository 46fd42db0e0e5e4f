//! A traced program for the tests of whole processes. Its first argument selects a role.

mod alerts;
mod announced;
mod asking;
mod called;
mod clocks;
mod conditions;
mod counted;
mod counting;
mod crowd;
mod descriptors;
mod ending;
mod forging;
mod forking;
mod instruments;
mod locked;
mod other_users;
mod sampled;
mod scheduled;
mod signals;
mod sys;
mod tasks;
mod unwinding;
mod waits;
mod watched;
mod working;

use std::env;

use trace_runtime::Trace;

/// Makes this process a provider, and waits until it records: `init` waits for a limited time.
fn init_recording() -> Trace {
    let trace = init();
    while !trace_runtime::trace_enabled!() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    trace
}

/// Makes this process a provider. The variable `WITHOUT` disables features of the system.
fn init() -> Trace {
    let mut builder = trace_runtime::builder().on_message(|message| eprintln!("trace: {message}"));
    let without = env::var("WITHOUT").unwrap_or_default();
    if without.contains("membarrier") {
        builder = builder.without_membarrier();
    }
    if without.contains("cpu counter") {
        builder = builder.clock(trace_runtime::Clock::Boottime);
    }
    builder.init()
}

/// Returns the argument with this index, after the role.
fn argument(index: usize) -> String {
    env::args().nth(index + 2).unwrap_or_else(|| panic!("expected argument {index} of the role"))
}

/// Returns the argument with this index as a number.
fn number(index: usize) -> u64 {
    let text = argument(index);
    text.parse().unwrap_or_else(|error| panic!("expected a number, found {text:?}: {error}"))
}

fn main() {
    match env::args().nth(1).unwrap_or_default().as_str() {
        "alert-slow" => alerts::slow(number(0), number(1), number(2)),
        "alert-repeatedly" => alerts::repeatedly(number(0), number(1)),
        "alert-at-end" => alerts::at_end(),
        "alert-on-input" => alerts::on_input(),
        "alert-until-killed" => alerts::until_killed(number(0)),
        "alert-until-terminated" => alerts::until_terminated(),
        "alert-many" => alerts::many(number(0), number(1)),
        "alert-names" => alerts::names(),
        "alert-hostile-name" => alerts::hostile_name(),
        "alert-in-handler" => alerts::in_handler(number(0)),
        "alert-forked" => alerts::forked(),
        "announced" => announced::run(number(0)),
        "announced-until-closed" => announced::until_closed(),
        "announced-windows" => announced::windows(number(0)),
        "clock" => clocks::run(&argument(0), number(1)),
        "watched" => watched::run(&argument(0), argument(1).as_ref()),
        "watched-requests" => watched::requests(number(0)),
        "meet-condition" => conditions::meet(&argument(0), number(1)),
        "called" => called::run(number(0), number(1)),
        "counted" => counted::run(number(0), number(1)),
        "count" => counting::count(argument(0).as_ref(), number(1)),
        "count-and-be-killed" => {
            counting::count_and_be_killed(number(0), argument(1).as_ref(), number(2))
        }
        "count-calls" => counting::count_calls(argument(0).as_ref(), number(1)),
        "call" => counting::call(number(0)),
        "publish" => counting::publish(number(0), argument(1).as_ref(), number(2)),
        "storm" => counting::storm(),
        "burst" => counting::burst(number(0)),
        "crowd" => crowd::run(number(0), number(1)),
        "close-all" => descriptors::close_all(&argument(0), argument(1).as_ref()),
        "close-output" => descriptors::close_output(),
        "list-descriptors" => descriptors::list(),
        "without-own-descriptors" => descriptors::without_own_descriptors(&argument(0)),
        "end" => ending::end(&argument(0)),
        "forge" => forging::forge(),
        "drop-guard" => ending::drop_guard(),
        "late-init" => ending::late_init(),
        "exec" => ending::exec_another(),
        "exec-by-thread" => ending::exec_by_thread(&argument(0)),
        "daemon" => ending::daemon(),
        "daemon-parent" => ending::daemon_parent(&argument(0)),
        "daemon-itself" => ending::daemon_itself(number(0) as i32),
        "parent" => ending::parent(),
        "idle" => ending::idle(),
        "untraced" => {}
        "until-signal" => ending::until_signal(),
        "handle-signal" => ending::handle_signal(),
        "chatter" => ending::chatter(),
        "alert-chatter" => alerts::chatter(),
        "trace-as" => other_users::trace_as(),
        "listen" => other_users::listen(&argument(0)),
        "fork" => forking::fork_and_trace(&argument(0)),
        "instruments" => instruments::run(number(0)),
        "name-and-be-killed" => instruments::be_killed(),
        "locked" => locked::run(&argument(0), number(1), number(2)),
        "stacks" => locked::print_stacks(number(0)),
        "observe-slowly" => instruments::observe_slowly(argument(0).into()),
        "observe-and-fork" => forking::observe_and_fork(&argument(0)),
        "orphan" => forking::orphan(&argument(0)),
        "restart" => ending::restart(),
        "end-in-observer" => ending::end_in_observer(),
        "sampled" => sampled::run(number(0)),
        "ask" => asking::ask(),
        "answer" => asking::answer(),
        "offsets" => scheduled::offsets(argument(0).as_ref()),
        "scheduled" => scheduled::run(argument(0).as_ref()),
        "signals" => signals::trace_in_handler(number(0)),
        "first-records" => signals::first_records(number(0)),
        "unwind" => unwinding::run(),
        "waits" => waits::run(),
        "work" => working::work(number(0)),
        "poll-and-be-killed" => tasks::poll_and_be_killed(),
        role => panic!("expected a role, found {role:?}"),
    }
}
