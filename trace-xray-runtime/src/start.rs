//! Start of the library in a program.

use trace_runtime::observe;

use crate::{control, session, settings, sys, thread};

/// Is called by the loader before the program's own initializers.
#[used]
#[link_section = ".init_array"]
static START: extern "C" fn() = start;

/// Makes the program a provider, if the environment selects functions and an object has some.
extern "C" fn start() {
    let Some(selection) = settings::selection() else { return };
    if !control::prepare(selection) {
        return;
    }
    thread::prepare();
    sys::at_fork(control::before_fork, control::after_fork, control::in_forked_child);
    // Both live as long as the process: the provider ends when the process exits.
    std::mem::forget(observe(session::observe));
    std::mem::forget(trace_runtime::init());
}
