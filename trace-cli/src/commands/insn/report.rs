//! What `trace insn record` reports at its end.

use trace_insntrace::step::{SymbolRange, Tracer};

use crate::cli::InsnRecordArgs;
use crate::message::{counted, describe, HINT};
use crate::say;

/// Reports what was recorded.
pub(super) fn report(args: &InsnRecordArgs, tracer: &Tracer, instructions: u64) {
    let steps = tracer.steps();
    let number = counted(instructions, "instruction", "instructions");
    say(&match args.snapshot.is_empty() {
        true => format!("{number} recorded in {}, in {steps} steps", args.output.display()),
        false => format!("{number} executed, in {steps} steps"),
    });
    tracer.symbol_ranges().for_each(report_range);
    report_calls(args, tracer);
    if let Some(reason) = tracer.breakpoint_refusal() {
        say(&format!("there are no breakpoints of the processor: {}", describe(reason)));
        say("all code was executed in single steps, which is slow");
    }
    if let Some((number, reason)) = tracer.untraced() {
        let threads = counted(number, "thread", "threads");
        let reason = describe(reason);
        say(&format!("{threads} could not be traced, and continued untraced: {reason}"));
    }
    for program in tracer.unprivileged() {
        let hint = "the kernel grants them to a traced program only if root traces it";
        say(&format!("{program} was executed without the privileges of its file{HINT}{hint}"));
    }
    if args.budget.is_some_and(|budget| steps >= budget) {
        say("the budget is used up: the program continues untraced");
    }
}

/// Reports what the range of a function lacks.
fn report_range(range: &SymbolRange) {
    match (range.is_found(), range.is_indirect()) {
        (false, false) => say(&missing(range.name())),
        (_, true) => say(&indirect(range.name())),
        (true, false) => {}
    }
}

/// Reports how often the traced function was called, or the scope began.
fn report_calls(args: &InsnRecordArgs, tracer: &Tracer) {
    match (&args.function, &args.in_scope) {
        (Some(function), _) => report_function(function, tracer, args.nth),
        (None, Some(scope)) => match tracer.traced_calls() {
            None => {
                let hint = "it has to link `trace-runtime`, and to have its symbols";
                say(&format!("no process announces scopes{HINT}{hint}"));
            }
            Some(scopes) => report_number(scopes, args.nth, scope, ["scope", "scopes"]),
        },
        (None, None) => {}
    }
}

fn report_function(function: &str, tracer: &Tracer, nth: Option<u64>) {
    match tracer.traced_calls() {
        None if !tracer.has_indirect_function() => say(&missing(function)),
        None => {}
        Some(calls) => report_number(calls, nth, function, ["call", "calls"]),
    }
    if tracer.has_indirect_function() {
        say(&indirect(function));
    }
    if let more @ 1.. = tracer.unwatched_functions() {
        let functions = counted(more as u64, "more function", "more functions");
        say(&format!("{functions} {function} in one process: their calls are not recorded"));
    }
}

fn report_number(number: u64, nth: Option<u64>, name: &str, [one, many]: [&str; 2]) {
    match nth {
        Some(nth) if number >= nth => say(&format!("{one} {nth} of {name} was recorded")),
        _ => say(&format!("{} of {name}", counted(number, one, many))),
    }
}

fn missing(function: &str) -> String {
    let hint = "it may be inlined; `nm -C` prints the names of a file";
    format!("no process has had a function {function}{HINT}{hint}")
}

/// Returns the message about a function that has no calls of its own.
pub(super) fn indirect(function: &str) -> String {
    let hint = "its calls are those of the other function, which has another name, such as \
                __strlen_avx2 for strlen";
    format!("{function} only chooses another function when the program starts{HINT}{hint}")
}
