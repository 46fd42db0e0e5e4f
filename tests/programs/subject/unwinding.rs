//! Trace points in unusual states: while unwinding, while a thread or the process ends, before
//! `main`.

use std::cell::RefCell;
use std::panic::{catch_unwind, AssertUnwindSafe};

use trace_runtime::{trace_duration, trace_instant};

use crate::sys;

/// The dynamic linker calls this before `main`. With `INIT_BEFORE_MAIN` set, the process is a
/// provider from then on.
#[used]
#[link_section = ".init_array"]
static BEFORE_MAIN: extern "C" fn() = before_main;

extern "C" fn before_main() {
    trace_instant!("before", "no provider yet");
    if std::env::var_os("INIT_BEFORE_MAIN").is_some() {
        std::mem::forget(trace_runtime::init());
        trace_instant!("before", "before main");
    }
}

/// Traces when it is dropped.
struct Traces(&'static str);

impl Drop for Traces {
    fn drop(&mut self) {
        trace_duration!("drop", "drop scope");
        trace_instant!("drop", self.0);
    }
}

thread_local! {
    static AT_THREAD_END: RefCell<Option<Traces>> = const { RefCell::new(None) };
}

extern "C" fn key_destructor(_: *mut libc::c_void) {
    trace_instant!("drop", "key destructor");
}

extern "C" fn registered_before_init() {
    // The provider has ended: the event is not recorded, and does no harm.
    trace_instant!("drop", "registered before init");
}

extern "C" fn registered_after_init() {
    trace_instant!("drop", "registered after init");
}

/// Runs all cases.
pub(crate) fn run() {
    std::panic::set_hook(Box::new(|_| {}));
    sys::at_exit(registered_before_init);
    let trace = crate::init();
    sys::at_exit(registered_after_init);
    panic_in_scopes();
    end_threads();
    if std::env::var_os("DROP_GUARD").is_some() {
        drop(trace);
        trace_instant!("drop", "after the guard");
        trace_duration!("drop", "scope after the guard");
    } else {
        std::mem::forget(trace);
    }
}

fn panic_in_scopes() {
    let caught = catch_unwind(AssertUnwindSafe(|| {
        trace_duration!("unwind", "outer");
        let _traces = Traces("dropped while unwinding");
        trace_duration!("unwind", "inner");
        panic!("expected");
    }));
    assert!(caught.is_err());
    trace_instant!("unwind", "after catching");
}

/// Threads that trace first, or for the first time, in their destructors.
fn end_threads() {
    let mut key = 0;
    // SAFETY: there is room for the key, and the destructor is a function of this program.
    assert_eq!(unsafe { libc::pthread_key_create(&mut key, Some(key_destructor)) }, 0);
    for traces_before in [true, false] {
        let thread = std::thread::spawn(move || {
            AT_THREAD_END.with(|cell| *cell.borrow_mut() = Some(Traces("thread local")));
            // SAFETY: the key was made above; the value is never followed.
            unsafe { libc::pthread_setspecific(key, std::ptr::without_provenance(1)) };
            if traces_before {
                trace_instant!("drop", "thread");
            }
        });
        thread.join().expect("it does not panic");
    }
}
