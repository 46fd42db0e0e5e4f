//! The program and its shared libraries, as the loader has them.

use std::ffi::{c_int, c_void, CStr, OsStr};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::own::OWN;
use crate::{restriction, sys};

/// The access to segments of text.
const TEXT: u32 = libc::PF_R | libc::PF_X;

/// Whether a thread of this library uses the loader's lock, or a thread of the program forks: the
/// child would find the loader's lock held for ever by a thread that it does not have.
///
/// A lock that makes no system call when it is released: see [`sandbox`](crate::sandbox).
static IS_USED: &AtomicBool = &OWN.is_loader_used;

/// Waits until no thread of this library uses the loader, and keeps them from it until
/// [`release`].
pub(crate) fn reserve() {
    let _always = reserve_for(Duration::MAX);
}

/// The same, for at most this time. Returns whether it is reserved.
pub(crate) fn reserve_for(patience: Duration) -> bool {
    let begin = Instant::now();
    while IS_USED.swap(true, Ordering::Acquire) {
        if begin.elapsed() >= patience {
            return false;
        }
        if restriction::is_filtered() {
            std::hint::spin_loop();
        } else {
            thread::sleep(Duration::from_micros(50));
        }
    }
    true
}

pub(crate) fn release() {
    IS_USED.store(false, Ordering::Release);
}

/// Calls a function with each object, until it returns another number than 0. Objects stay loaded
/// meanwhile: the loader holds its lock.
///
/// # Safety
/// The function may be called with these data.
unsafe fn iterate(visit: Visit, data: *mut c_void) {
    let _reserved = Reserved::new();
    // SAFETY: by the contract.
    unsafe { libc::dl_iterate_phdr(Some(visit), data) };
}

type Visit = unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int;

/// The right to use the loader.
struct Reserved;

impl Reserved {
    fn new() -> Self {
        reserve();
        Self
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        release();
    }
}

/// A loaded program or shared library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) path: PathBuf,
    /// What is added to an address in the file.
    pub(crate) base: u64,
    /// The addresses of its segments that are executable and readable.
    pub(crate) text: Vec<Range<u64>>,
    /// The addresses of its segments that are readable.
    readable: Vec<Range<u64>>,
}

impl Object {
    /// Returns whether a range of addresses is text of this object.
    pub(crate) fn contains(&self, range: &Range<u64>) -> bool {
        is_inside(&self.text, range)
    }

    /// Returns whether it has the code of this library.
    pub(crate) fn is_this_library(&self) -> bool {
        let here = reserve as fn() as usize as u64;
        self.contains(&(here..here + 1))
    }

    /// Returns bytes of a readable segment. The object must be loaded.
    pub(crate) fn bytes(&self, range: &Range<u64>) -> Option<Vec<u8>> {
        if !is_inside(&self.readable, range) || range.is_empty() {
            return None;
        }
        // SAFETY: the range is inside of a readable segment of an object that is loaded.
        Some(unsafe { sys::read_memory(range.start as usize, (range.end - range.start) as usize) })
    }
}

fn is_inside(segments: &[Range<u64>], range: &Range<u64>) -> bool {
    segments.iter().any(|segment| segment.start <= range.start && range.end <= segment.end)
}

/// How often objects were loaded and unloaded, by the loader's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    loaded: u64,
    unloaded: u64,
}

/// Returns how often objects were loaded and unloaded.
pub(crate) fn changes() -> Changes {
    let mut changes = Changes::default();
    // SAFETY: the callback gets the counters, which live longer than the call.
    unsafe { iterate(count, (&raw mut changes).cast()) };
    changes
}

/// Is called for the first object only: each has the same counters.
unsafe extern "C" fn count(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: the loader passes a valid object.
    let info = unsafe { &*info };
    // SAFETY: the data are the counters of `changes`, which nothing else uses meanwhile.
    let changes = unsafe { &mut *data.cast::<Changes>() };
    *changes = Changes { loaded: info.dlpi_adds, unloaded: info.dlpi_subs };
    1
}

/// Calls `visit` with all objects. None of them is unloaded meanwhile: the loader holds its lock.
pub(crate) fn with_loaded(mut visit: impl FnMut(&[Object])) {
    let mut visit: &mut dyn FnMut(&[Object]) = &mut visit;
    // SAFETY: the callback gets the function, which lives longer than the call.
    unsafe { iterate(visit_all, (&raw mut visit).cast()) };
}

/// Returns all objects.
#[cfg(test)]
pub(crate) fn loaded() -> Vec<Object> {
    let mut objects = Vec::new();
    with_loaded(|loaded| objects = loaded.to_vec());
    objects
}

/// Returns all objects, to a thread that has the right to use the loader.
fn collected() -> Vec<Object> {
    let mut objects: Vec<Object> = Vec::new();
    // SAFETY: the callback gets the list, which lives longer than the call.
    unsafe { libc::dl_iterate_phdr(Some(collect), (&raw mut objects).cast()) };
    objects
}

/// Is called for the first object only. The loader's lock may be taken again by the same thread.
unsafe extern "C" fn visit_all(_: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: the data is the function of `with_loaded`, which nothing else uses meanwhile.
    let visit = unsafe { &mut *data.cast::<&mut dyn FnMut(&[Object])>() };
    visit(&collected());
    1
}

unsafe extern "C" fn collect(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: the loader passes a valid object.
    let info = unsafe { &*info };
    // SAFETY: the data is the list of `loaded`, which nothing else uses meanwhile.
    let objects = unsafe { &mut *data.cast::<Vec<Object>>() };
    // SAFETY: by the loader.
    objects.push(unsafe { object(info) });
    0
}

/// # Safety
/// The object is loaded, and the description is the loader's.
unsafe fn object(info: &libc::dl_phdr_info) -> Object {
    let name = if info.dlpi_name.is_null() {
        &[]
    } else {
        // SAFETY: the loader's names end with a zero byte.
        unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes()
    };
    // The program itself has no name.
    let path = if name.is_empty() { b"/proc/self/exe" } else { name };
    let segments = if info.dlpi_phdr.is_null() {
        &[]
    } else {
        // SAFETY: the loader has so many headers of segments there.
        unsafe { slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) }
    };
    let readable = |access: u32| {
        let segments = segments.iter();
        let segments =
            segments.filter(move |it| it.p_type == libc::PT_LOAD && it.p_flags & access == access);
        segments.map(|segment| {
            let start = info.dlpi_addr.wrapping_add(segment.p_vaddr);
            start..start.saturating_add(segment.p_memsz)
        })
    };
    Object {
        path: PathBuf::from(OsStr::from_bytes(path)),
        base: info.dlpi_addr,
        text: readable(TEXT).collect(),
        readable: readable(libc::PF_R).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_loaded() {
        let objects = loaded();
        assert!(objects.len() > 1, "the C library, too");
        let [program] =
            objects.iter().filter(|object| object.is_this_library()).collect::<Vec<_>>()[..]
        else {
            panic!("one object has this function")
        };
        assert_eq!(program.path, PathBuf::from("/proc/self/exe"));
    }
}
