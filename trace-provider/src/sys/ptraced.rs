//! Whether another process traces this one with ptrace(2).

use std::fs;

/// Returns whether a debugger or another tracer is attached to the calling thread. It does not work
/// without `/proc`: then the answer is no.
pub(crate) fn is_ptraced() -> bool {
    fs::read_to_string("/proc/thread-self/status").is_ok_and(|status| has_tracer(&status))
}

fn has_tracer(status: &str) -> bool {
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|pid| pid.trim() != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tracer_has_a_process_id() {
        let status = |pid| format!("Name:\tsubject\nPPid:\t1\nTracerPid:\t{pid}\nUid:\t0\n");
        assert!(has_tracer(&status(4711)));
        assert!(!has_tracer(&status(0)) && !has_tracer("Name:\tTracerPid: 1\n"));
    }
}
