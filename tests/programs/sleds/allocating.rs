//! A program whose allocators have sleds: Rust's, and that of the C library, which the recording
//! itself calls.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

#[allow(dead_code, reason = "another program has more to do")]
mod loading;

struct Allocator;

// SAFETY: it is that of the system.
unsafe impl GlobalAlloc for Allocator {
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by the contract.
        unsafe { System.alloc(layout) }
    }

    #[inline(never)]
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: by the contract.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

const BYTES: usize = 512 << 20;
/// The bytes before an allocation, which have its size.
const HEADER: usize = 16;

/// Memory that is given away once.
static mut MEMORY: [u8; BYTES] = [0; BYTES];
static USED: AtomicUsize = AtomicUsize::new(0);

#[inline(never)]
fn take(bytes: usize, alignment: usize) -> *mut c_void {
    let alignment = alignment.max(HEADER);
    let room = bytes.saturating_add(HEADER + alignment).min(BYTES);
    let place = USED.fetch_add(room, Ordering::Relaxed);
    if place + room > BYTES {
        return std::ptr::null_mut();
    }
    let memory = (&raw mut MEMORY).cast::<u8>();
    // SAFETY: the place is inside of the memory.
    let start = unsafe { memory.add(place + HEADER) };
    let start = start.map_addr(|address| address.next_multiple_of(alignment));
    // SAFETY: the header is inside of the room, which is that of this call, and aligned.
    unsafe { start.sub(HEADER).cast::<usize>().write(bytes) };
    start.cast()
}

#[no_mangle]
pub extern "C" fn malloc(bytes: usize) -> *mut c_void {
    take(bytes, HEADER)
}

#[no_mangle]
pub extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    // The memory is new, and so zero.
    take(count.saturating_mul(bytes), HEADER)
}

/// # Safety
/// `start` is null or came from these functions.
#[no_mangle]
pub unsafe extern "C" fn realloc(start: *mut c_void, bytes: usize) -> *mut c_void {
    let new = take(bytes, HEADER);
    if !start.is_null() && !new.is_null() {
        // SAFETY: by the contract there is a header.
        let before = unsafe { start.cast::<u8>().sub(HEADER).cast::<usize>().read() };
        let (from, to) = (start.cast::<u8>(), new.cast::<u8>());
        // SAFETY: both have so many bytes, and the new ones are nobody else's.
        unsafe { std::ptr::copy_nonoverlapping(from, to, before.min(bytes)) };
    }
    new
}

#[no_mangle]
pub extern "C" fn free(start: *mut c_void) {
    black_box(start);
}

/// # Safety
/// `place` is writable.
#[no_mangle]
pub unsafe extern "C" fn posix_memalign(
    place: *mut *mut c_void,
    alignment: usize,
    bytes: usize,
) -> c_int {
    // SAFETY: by the contract.
    unsafe { place.write(take(bytes, alignment)) };
    0
}

#[no_mangle]
pub extern "C" fn aligned_alloc(alignment: usize, bytes: usize) -> *mut c_void {
    take(bytes, alignment)
}

fn main() {
    loading::wait_until_patched(boxed as *const u8);
    let threads: Vec<_> = (0..3).map(|_| std::thread::spawn(sum)).collect();
    let sums = threads.into_iter().map(|thread| thread.join().expect("no panic"));
    println!("{}", sums.sum::<u64>());
}

#[inline(never)]
fn sum() -> u64 {
    (0..1000).map(|number| *boxed(number)).sum()
}

#[inline(never)]
fn boxed(number: u64) -> Box<u64> {
    black_box(Box::new(black_box(number) + 1))
}
