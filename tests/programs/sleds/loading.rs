//! Libraries that are loaded while the program runs.

use std::ffi::{c_char, c_int, c_void, CString};

extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlclose(library: *mut c_void) -> c_int;
    fn getppid() -> c_int;
}

/// Loads a library twice.
pub fn library(path: &str) {
    (0..2).for_each(|_| call(path));
}

/// Loads two libraries in turn, many times: when one is patched, it is known that the other one is
/// not loaded. Prints by how many bytes the executable memory without a file has grown after the
/// first time.
pub fn reload(paths: [&str; 2], number: usize) {
    paths.into_iter().for_each(call);
    let first = executable_bytes();
    (1..number).for_each(|_| paths.into_iter().for_each(call));
    println!("{}", executable_bytes() - first);
}

/// Loads a library, and then another one that has replaced it.
pub fn replaced(path: &str, other: &str) {
    call(path);
    std::fs::rename(other, path).expect("it can be renamed");
    call(path);
}

/// Loads a library, calls its function when it is patched, and unloads it.
fn call(path: &str) {
    let path = CString::new(path).expect("no zero byte");
    // SAFETY: the library's initializers do nothing but those of the standard library.
    let library = unsafe { dlopen(path.as_ptr(), 2) };
    assert!(!library.is_null());
    // SAFETY: the library is open.
    let function = unsafe { dlsym(library, c"library_function".as_ptr()) };
    assert!(!function.is_null());
    // SAFETY: that is its type.
    let function: extern "C" fn(u64) -> u64 = unsafe { std::mem::transmute(function) };
    wait_until_patched(function as *const u8);
    for _ in 0..10 {
        assert_eq!(function(1), 2);
    }
    // SAFETY: nothing of it is used any more.
    unsafe { dlclose(library) };
}

/// Returns whether the first jump of a function, which is a sled, is one over no bytes.
pub fn is_patched(function: *const u8) -> bool {
    // SAFETY: a function has two bytes.
    unsafe { function.add(1).read_volatile() == 0 }
}

/// Waits until a function is patched. Fails if the process that records has ended.
pub fn wait_until_patched(function: *const u8) {
    // SAFETY: the call has no arguments.
    let parent = unsafe { getppid() };
    while !is_patched(function) {
        // SAFETY: as above.
        assert_eq!(unsafe { getppid() }, parent, "the recording has ended");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

fn executable_bytes() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("it can be read");
    let bytes = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [range, access, _, _, _] = fields[..] else { return None };
        let (start, end) = range.split_once('-')?;
        let address = |text| usize::from_str_radix(text, 16).ok();
        access.contains('x').then_some(address(end)? - address(start)?)
    };
    maps.lines().filter_map(bytes).sum()
}
