//! The state of each thread: taken at its first traced call, given back when the thread ends.

use std::cell::{Cell, UnsafeCell};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{compiler_fence, AtomicI32, AtomicU64, AtomicUsize, Ordering};

use trace_runtime::foreign::{self, Scope, Site};

use crate::calls::{Call, Calls};
use crate::pool::{Entry, Pool};
use crate::{own, signals, sys};

/// The open calls of a thread that are recorded. The state of a thread takes memory only for the
/// depth that it reaches.
const MOST_CALLS: usize = 16_384;

/// The calls of a thread, as the handler sees them.
pub(crate) type ThreadCalls = Calls<Recorded, MOST_CALLS>;

/// A call in the trace.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Recorded(MaybeUninit<Scope>);

impl Call for Recorded {
    type Site = &'static Site;

    #[inline(always)]
    fn begin(&mut self, site: &'static Site) {
        // SAFETY: the site is registered, has no keys, and is never freed; the scope is writable.
        unsafe { foreign::begin_plain(self.0.as_mut_ptr(), site) };
    }

    #[inline(always)]
    fn end(&mut self) {
        // SAFETY: `begin` has stored the scope on this thread, whose own state this is, and
        // `Calls` ends a call once.
        unsafe { foreign::end(self.0.as_mut_ptr()) };
    }

    fn signal_stack() -> Option<Range<usize>> {
        signals::stack()
    }
}

/// The state of a thread. All zeros is valid: no calls are open.
#[derive(Debug)]
#[repr(C)]
struct State {
    /// The address of the frame whose entry or exit is being recorded, or 0.
    inside: AtomicUsize,
    /// Used only by the thread that has stored `inside`.
    calls: UnsafeCell<ThreadCalls>,
}

/// The states of threads that have none yet.
static POOL: Pool<State> = Pool::new();

/// Calls that were not recorded because their thread had no state yet.
static MISSED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The thread's state; null before its first call and after its end, [`ATTACHING`] in between,
    /// [`REFUSED`] if it must not have one.
    ///
    /// It needs no destructor of Rust's, so that it can be read at any time in the life of a
    /// thread.
    static STATE: Cell<*const Entry<State>> = const { Cell::new(ptr::null()) };
}

/// Marks a thread that takes its state: a signal handler may interrupt it.
const ATTACHING: *const Entry<State> = ptr::without_provenance(1);
/// Marks a thread that is not recorded.
const REFUSED: *const Entry<State> = ptr::without_provenance(2);

/// The key whose destructor frees the states of ended threads, or -1.
static KEY: AtomicI32 = AtomicI32::new(-1);

/// Makes ready what threads need for their states. The keys that are made first take no memory of
/// the C library when a value is stored.
pub(crate) fn prepare() {
    if let Some(key) = sys::make_key(thread_ends).and_then(|key| i32::try_from(key).ok()) {
        KEY.store(key, Ordering::Relaxed);
    }
}

/// Makes states ahead of need, as many as there is address space for.
pub(crate) fn make_states() {
    let mut count = POOL.missing();
    while count > 0 {
        // SAFETY: zeros are valid, by the rules of `State` and `Entry`, whose contents other
        // threads use only if they own them.
        match unsafe { sys::map_entries(count) } {
            Ok(states) => return POOL.add(states),
            Err(_) => count /= 4,
        }
    }
}

/// Returns the number of calls since the last one that were not recorded because their thread had
/// no state.
pub(crate) fn take_missed() -> u64 {
    MISSED.swap(0, Ordering::Relaxed)
}

/// Runs a function with the open calls of this thread, for an entry or exit of the frame at
/// `address`. Does not run it inside of another one: in a signal handler that interrupts it, or in
/// an allocator with sleds that the library calls.
#[inline(always)]
pub(crate) fn with_calls(address: usize, run: impl FnOnce(&mut ThreadCalls)) {
    let state = STATE.get();
    let state = if state.addr() > REFUSED.addr() { state } else { attach(state) };
    if state.is_null() {
        return;
    }
    // SAFETY: the pointer came from the pool, whose entries are never freed.
    let state = unsafe { &(*state).value };
    let inside = state.inside.load(Ordering::Relaxed);
    if inside != 0 && is_nested(inside, address) {
        return;
    }
    state.inside.store(address, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    // SAFETY: only this thread uses its state, and `inside` keeps code that interrupts it out.
    run(unsafe { &mut *state.calls.get() });
    compiler_fence(Ordering::SeqCst);
    state.inside.store(0, Ordering::Relaxed);
}

/// Returns whether the frame at `address` was made inside of the recording of another. If not, that
/// one was left by a jump out of a signal handler.
#[cold]
#[inline(never)]
fn is_nested(inside: usize, address: usize) -> bool {
    address < inside || signals::stack().is_some_and(|stack| stack.contains(&address))
}

/// Takes a state for this thread. Returns null if it has none.
#[cold]
#[inline(never)]
fn attach(current: *const Entry<State>) -> *const Entry<State> {
    let Ok(key) = u32::try_from(KEY.load(Ordering::Relaxed)) else { return ptr::null() };
    if !current.is_null() {
        return ptr::null();
    }
    STATE.set(ATTACHING);
    let Some(state) = POOL.take() else {
        MISSED.fetch_add(1, Ordering::Relaxed);
        STATE.set(ptr::null());
        return ptr::null();
    };
    if !sys::set_value(key, ptr::from_ref(state).cast()) {
        // The thread stays without a state.
        POOL.put(state);
        return ptr::null();
    }
    STATE.set(state);
    state
}

/// Has the calling thread not be recorded from now on.
pub(crate) fn refuse() {
    STATE.set(REFUSED);
}

/// Frees the state of a thread that ends. Its open calls end: it has left them by unwinding. If a destructor that runs later calls a traced function,
/// the thread gets a new one, and this is called again.
extern "C" fn thread_ends(state: *mut c_void) {
    let state: *const Entry<State> = state.cast_const().cast();
    if STATE.get() != state {
        return;
    }
    STATE.set(ptr::null());
    // SAFETY: the value of the key is the thread's entry of the pool, which is never freed.
    let entry = unsafe { &*state };
    entry.value.inside.store(0, Ordering::Relaxed);
    // SAFETY: the thread does not use its state any more, and nobody else does before `put`.
    unsafe { &mut *entry.value.calls.get() }.finish(own::session());
    POOL.put(entry);
}
