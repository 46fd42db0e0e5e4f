//! Start of the library in a program.

use crate::{control, life, own, restriction, settings, sys, thread};

/// Is called by the loader before the program's own initializers.
#[used]
#[link_section = ".init_array"]
static START: extern "C" fn() = start;

/// Makes the program a provider, if the environment selects functions and an object has some.
extern "C" fn start() {
    let Some(settings) = settings::settings() else { return };
    if restriction::has_more_filters_than(settings.filters) {
        return;
    }
    let has_sleds = control::prepare(settings.selection);
    if !has_sleds && !control::loads_libraries() {
        return;
    }
    own::prepare();
    thread::prepare();
    sys::at_fork(control::before_fork, control::after_fork, control::in_forked_child);
    let builder = trace_runtime::builder();
    if has_sleds {
        life::provide(builder);
    } else {
        life::watch(builder);
    }
}
