//! States of threads.

use trace_format::layout::ThreadState;

/// Returns the state for ftrace's letters, such as `R+` or `D|W`. States without a counterpart are
/// [`ThreadState::BLOCKED`]. Returns `None` without a letter.
#[must_use]
pub fn thread_state(letters: &str) -> Option<ThreadState> {
    Some(match letters.chars().next()? {
        'R' => ThreadState::RUNNING,
        'T' | 't' => ThreadState::SUSPENDED,
        'Z' => ThreadState::DYING,
        'X' | 'x' => ThreadState::DEAD,
        _ => ThreadState::BLOCKED,
    })
}
