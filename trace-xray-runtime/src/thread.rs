//! The state of each thread: taken at its first traced call, given back when the thread ends.

use std::arch::{asm, global_asm};
use std::cell::{Cell, UnsafeCell};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{compiler_fence, AtomicI32, AtomicU64, AtomicUsize, Ordering};

use trace_runtime::foreign::{self, Argument, Scope, Site, Writer};

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

impl Recorded {
    /// Begins a call with its first argument. The site has one key.
    pub(crate) fn begin_with(&mut self, site: &'static Site, argument: u64) {
        let arguments = [Argument::from_u64(argument)];
        // SAFETY: the site is registered, has one key, and is never freed; the scope is writable.
        unsafe { foreign::begin(self.0.as_mut_ptr(), site, arguments.as_ptr()) };
    }
}

impl Call for Recorded {
    type Site = &'static Site;
    type Writer = Writer;

    #[inline(always)]
    fn begin(&mut self, writer: Writer, site: &'static Site) {
        // SAFETY: the site is registered, has no keys, and is never freed; the scope is writable;
        // the writer is that of this thread, by the rules of `State`.
        unsafe { foreign::begin_plain(writer, self.0.as_mut_ptr(), site) };
    }

    #[inline(always)]
    fn end(&mut self, writer: Writer) {
        // SAFETY: `begin` has stored the scope on this thread, whose own state this is, and
        // `Calls` ends a call once; the writer as above.
        unsafe { foreign::end_plain(writer, self.0.as_ptr()) };
    }

    #[inline(always)]
    fn end_by_jump(&mut self, writer: Writer) {
        // SAFETY: as in `end`.
        unsafe { foreign::end_plain_by_jump(writer, self.0.as_ptr()) };
    }

    fn count_missed() {
        count_missed();
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
    /// The writer of the thread.
    ///
    /// Rules: used only by the thread, and kept only in its first state: the thread has the writer
    /// until a destructor that runs later than the one that takes that state away.
    writer: Cell<Option<Writer>>,
    is_first: Cell<bool>,
    /// Used only by the thread that has stored `inside`.
    calls: UnsafeCell<ThreadCalls>,
}

/// The states of threads that have none yet.
static POOL: Pool<State> = Pool::new();

/// Calls, and events of sleds, that were not recorded: see [`count_missed`].
static MISSED: AtomicU64 = AtomicU64::new(0);

// The thread's state; null before its first call, [`ENDED`] after its end, [`ATTACHING`] while it
// gets one, [`REFUSED`] if it must not have one.
//
// It needs no destructor, so that it can be read at any time in the life of a thread. A thread
// local of Rust is found by a call, in a shared library; this one is at a fixed distance of the
// thread's pointer, since the library is loaded with the program.
global_asm!(
    ".section .tbss, \"awT\", @nobits
    .globl trace_xray_state
    .hidden trace_xray_state
    .type trace_xray_state, @object
    .size trace_xray_state, 8
    .p2align 3
    trace_xray_state:
    .zero 8
    .text"
);

/// Returns the thread's state, or a mark.
#[inline(always)]
fn state() -> *const Entry<State> {
    let state;
    // SAFETY: reads the variable above, of this thread.
    unsafe {
        asm!(
            "mov {state}, qword ptr [rip + trace_xray_state@GOTTPOFF]",
            "mov {state}, qword ptr fs:[{state}]",
            state = out(reg) state,
            options(nostack, preserves_flags, readonly)
        );
    }
    state
}

fn set_state(state: *const Entry<State>) {
    // SAFETY: stores to the variable above, of this thread.
    unsafe {
        asm!(
            "mov {distance}, qword ptr [rip + trace_xray_state@GOTTPOFF]",
            "mov qword ptr fs:[{distance}], {state}",
            distance = out(reg) _,
            state = in(reg) state,
            options(nostack, preserves_flags)
        );
    }
}

/// Marks a thread that takes its state: a signal handler may interrupt it.
const ATTACHING: *const Entry<State> = ptr::without_provenance(1);
/// Marks a thread that is not recorded.
const REFUSED: *const Entry<State> = ptr::without_provenance(2);
/// Marks a thread whose state was taken away at its end.
const ENDED: *const Entry<State> = ptr::without_provenance(3);

/// The key whose destructor frees the states of ended threads, or -1.
static KEY: AtomicI32 = AtomicI32::new(-1);

/// Creates the keys with which threads free their states. The keys that are made first take no
/// memory of the C library when a value is stored.
pub(crate) fn prepare() {
    // Destructors of threads run in the order of their keys.
    if let Some(key) = sys::make_key(thread_ends).and_then(|key| i32::try_from(key).ok()) {
        KEY.store(key, Ordering::Relaxed);
    }
    foreign::prepare_threads();
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

/// Counts a call that is not recorded: its thread has no state, too many calls are open, or it is
/// inside of the recording of another one.
#[cold]
#[inline(never)]
fn count_missed() {
    MISSED.fetch_add(1, Ordering::Relaxed);
}

/// Returns the number of missed calls since the last call of this function.
pub(crate) fn take_missed() -> u64 {
    MISSED.swap(0, Ordering::Relaxed)
}

/// Runs a function with the open calls of this thread, for an entry of the frame at `address`.
/// Does not run it inside of another one: in a signal handler that interrupts it, or in an
/// allocator with sleds that the library calls. A call for which it is not run is counted.
#[inline(always)]
pub(crate) fn with_calls(address: usize, run: impl FnOnce(&mut ThreadCalls, Writer)) {
    let state = state();
    let state = if state.addr() > ENDED.addr() { state } else { attach(state) };
    if state.is_null() {
        return;
    }
    // SAFETY: the pointer came from the pool, whose entries are never freed.
    let state = unsafe { &(*state).value };
    let is_run = state.record(address, |calls| {
        if let Some(writer) = state.writer.get().or_else(|| state.find_writer()) {
            run(calls, writer);
        }
    });
    if !is_run {
        count_missed();
    }
}

/// Runs a function as [`with_calls`] does, for an exit. Without a state or a slot, the thread has
/// no open calls, and gets none. Nothing is counted as lost, since that is done at the entry.
#[inline(always)]
pub(crate) fn with_open_calls(address: usize, run: impl FnOnce(&mut ThreadCalls, Writer)) {
    let state = state();
    if state.addr() <= ENDED.addr() {
        return;
    }
    // SAFETY: the pointer came from the pool, whose entries are never freed.
    let state = unsafe { &(*state).value };
    state.record(address, |calls| {
        if let Some(writer) = state.writer.get().or_else(Writer::attached) {
            run(calls, writer);
        }
    });
}

impl State {
    /// Runs a function with the open calls, unless this is inside of another one. Returns whether
    /// it was run.
    #[inline(always)]
    fn record(&self, address: usize, run: impl FnOnce(&mut ThreadCalls)) -> bool {
        let inside = self.inside.load(Ordering::Relaxed);
        if inside != 0 {
            if is_nested(inside, address) {
                return false;
            }
            self.leave_recording(address);
        }
        self.inside.store(address, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        // SAFETY: only this thread uses its state, and `inside` keeps code that interrupts it out.
        run(unsafe { &mut *self.calls.get() });
        compiler_fence(Ordering::SeqCst);
        self.inside.store(0, Ordering::Relaxed);
        true
    }

    /// Ends the recording of a call whose frame was below `address`, and was left by a jump.
    #[cold]
    #[inline(never)]
    fn leave_recording(&self, address: usize) {
        if let Some(writer) = self.writer.get().or_else(Writer::attached) {
            writer.leave_above(address);
        }
    }

    /// Returns the writer of this thread, whose state this is, and keeps it if that is allowed.
    #[cold]
    #[inline(never)]
    fn find_writer(&self) -> Option<Writer> {
        let writer = Writer::current();
        if self.is_first.get() {
            self.writer.set(writer);
        }
        writer
    }
}

/// Returns whether the frame at `address` was made inside of the recording of another. If not, that
/// one was left by a jump out of a signal handler.
#[cold]
#[inline(never)]
fn is_nested(inside: usize, address: usize) -> bool {
    address < inside || signals::stack().is_some_and(|stack| stack.contains(&address))
}

/// Takes a state for this thread. Returns null, and counts the call, if it has none.
#[cold]
#[inline(never)]
fn attach(current: *const Entry<State>) -> *const Entry<State> {
    let state = take_state(current);
    // The trace reports threads that must not have one.
    if state.is_none() && current != REFUSED {
        count_missed();
    }
    state.map_or(ptr::null(), ptr::from_ref)
}

fn take_state(current: *const Entry<State>) -> Option<&'static Entry<State>> {
    let key = u32::try_from(KEY.load(Ordering::Relaxed)).ok()?;
    if current != ENDED && !current.is_null() {
        return None;
    }
    set_state(ATTACHING);
    let Some(state) = POOL.take() else {
        set_state(current);
        return None;
    };
    state.value.is_first.set(current.is_null());
    if !sys::set_value(key, ptr::from_ref(state).cast()) {
        // The thread stays without a state.
        POOL.put(state);
        return None;
    }
    set_state(state);
    Some(state)
}

/// Has the calling thread not be recorded from now on. Its end makes no system call, unless this is
/// called in a signal handler that has interrupted a recording.
pub(crate) fn refuse() {
    let state = state();
    set_state(REFUSED);
    // SAFETY: the pointer came from the pool, whose entries are never freed.
    let entry = (state.addr() > ENDED.addr()).then(|| unsafe { &*state });
    let is_recording = entry.is_some_and(|it| it.value.inside.load(Ordering::Relaxed) != 0);
    if state != ATTACHING && !is_recording {
        // SAFETY: the thread records nothing now, and its state is used no more.
        unsafe { foreign::detach_thread() };
    }
}

/// Frees the state of a thread that ends. Its open calls end: it has left them by unwinding. If a
/// destructor that runs later calls a traced function, the thread gets a new one, and this is
/// called again.
extern "C" fn thread_ends(state: *mut c_void) {
    let ended: *const Entry<State> = state.cast_const().cast();
    if self::state() != ended {
        return;
    }
    // SAFETY: the value of the key is the thread's entry of the pool, which is never freed.
    let entry = unsafe { &*ended };
    end_calls(&entry.value);
    release(entry);
}

/// Ends the open calls of a thread that ends.
fn end_calls(state: &State) {
    // A recording that was left by a jump out of a signal handler is over.
    if state.inside.swap(0, Ordering::Relaxed) != 0 {
        state.leave_recording(ALL_FRAMES);
    }
    state.record(ALL_FRAMES, |calls| {
        calls.finish(|| state.writer.take().or_else(Writer::attached), own::session());
    });
}

/// Gives the calling thread's state back, without a writer: the next thread of the state would
/// write to a slot that is not its own.
fn release(entry: &'static Entry<State>) {
    set_state(ENDED);
    // A signal handler in between keeps its writer in another state, or nowhere.
    compiler_fence(Ordering::SeqCst);
    entry.value.writer.set(None);
    POOL.put(entry);
}

/// An address above all frames: calls of a signal handler are nested in what is recorded there.
const ALL_FRAMES: usize = usize::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a test on a thread of its own, whose state it gets first.
    fn with_state(test: impl FnOnce(&State) + Send) {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                prepare();
                make_states();
                with_calls(0x1000, |_, _| {});
                // SAFETY: the thread has got a state, from the pool.
                test(unsafe { &(*state()).value });
            });
        });
    }

    /// A call of a signal handler between the two steps finds the thread's writer again.
    #[test]
    fn a_state_is_given_back_without_a_writer() {
        let place = tempfile::tempdir().unwrap();
        let _trace = trace_runtime::builder().output(place.path().join("app.fxt")).init();
        with_state(|state| {
            end_calls(state);
            // Kept, as in a call that a signal handler makes here.
            assert!(state.find_writer().is_some() && state.writer.get().is_some());
            // SAFETY: the pointer came from the pool, whose entries are never freed.
            release(unsafe { &*self::state() });
            assert!(state.writer.get().is_none());
            assert_eq!(self::state(), ENDED);
        });
    }

    /// Nor does it take the memory of one. There may be more threads than memory was made for.
    #[test]
    fn an_exit_of_a_thread_without_a_state_is_ignored() {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                prepare();
                make_states();
                with_open_calls(0x1000, |_, _| panic!("there are no open calls"));
                assert!(state().is_null());
            });
        });
    }

    /// In a signal handler that interrupts a thread which takes its state.
    #[test]
    fn a_call_without_a_state_is_counted() {
        let before = MISSED.load(Ordering::Relaxed);
        assert!(attach(ATTACHING).is_null());
        assert!(MISSED.load(Ordering::Relaxed) > before);
    }

    #[test]
    fn calls_of_a_signal_handler_at_the_end_of_a_thread_are_nested() {
        with_state(|state| {
            state.record(ALL_FRAMES, |_| {
                for address in [0x1000, 0x7fff_ffff_f000] {
                    state.record(address, |_| panic!("it is nested"));
                }
            });
            let mut runs = 0;
            state.record(0x1000, |_| runs += 1);
            assert_eq!(runs, 1);
        });
    }
}
