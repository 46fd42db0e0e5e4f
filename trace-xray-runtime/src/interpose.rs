//! Functions of the C library that the program calls here, since the loader has found this library
//! first: they restrict what this library may do, or are what it would have to ask the kernel for.
//!
//! Each makes the system call, as the C library's does. A program that makes one without the C
//! library is not noticed.

use std::ffi::{c_int, c_long, c_ulong};

use crate::restriction::Restriction;
use crate::{sandbox, signals, sys};

/// Sets the signal stack of the calling thread.
///
/// # Safety
/// As in the C library.
#[no_mangle]
unsafe extern "C" fn sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int {
    let arguments = [new.expose_provenance(), old.expose_provenance(), 0, 0, 0, 0];
    // SAFETY: by the contract.
    let result = unsafe { sys::call(libc::SYS_sigaltstack, arguments.map(|it| it as u64)) };
    if result == 0 {
        // SAFETY: the kernel has read it.
        if let Some(new) = unsafe { new.as_ref() } {
            signals::set_stack(stack_of(new));
        }
    }
    sys::returned(result) as c_int
}

fn stack_of(stack: &libc::stack_t) -> std::ops::Range<usize> {
    if stack.ss_flags & libc::SS_DISABLE != 0 {
        return 0..0;
    }
    let start = stack.ss_sp.addr();
    start..start.saturating_add(stack.ss_size)
}

/// Operations on a process or thread.
///
/// # Safety
/// As in the C library.
#[no_mangle]
unsafe extern "C" fn prctl(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int {
    if let Some(restriction) = Restriction::of_prctl(option as u64, a, b) {
        sandbox::prepare(restriction);
    }
    // SAFETY: by the contract.
    sys::returned(unsafe { sys::call(libc::SYS_prctl, [option as u64, a, b, c, d, 0]) }) as c_int
}

/// Gives the calling thread namespaces of its own.
///
/// # Safety
/// As in the C library.
#[no_mangle]
unsafe extern "C" fn unshare(flags: c_int) -> c_int {
    if let Some(restriction) = Restriction::of_unshare(flags as u64) {
        sandbox::prepare(restriction);
    }
    // SAFETY: by the contract.
    sys::returned(unsafe { sys::call(libc::SYS_unshare, [flags as u64, 0, 0, 0, 0, 0]) }) as c_int
}

/// Moves the calling thread into namespaces.
///
/// # Safety
/// As in the C library.
#[no_mangle]
unsafe extern "C" fn setns(descriptor: c_int, namespaces: c_int) -> c_int {
    if let Some(restriction) = Restriction::of_setns(namespaces as u64) {
        sandbox::prepare(restriction);
    }
    let arguments = [descriptor as u64, namespaces as u64, 0, 0, 0, 0];
    // SAFETY: by the contract.
    sys::returned(unsafe { sys::call(libc::SYS_setns, arguments) }) as c_int
}

/// Makes a system call.
///
/// # Safety
/// As in the C library.
#[no_mangle]
unsafe extern "C" fn syscall(
    number: c_long,
    a: c_ulong,
    b: c_ulong,
    c: c_ulong,
    d: c_ulong,
    e: c_ulong,
    f: c_ulong,
) -> c_long {
    let restriction = match number {
        libc::SYS_seccomp => Restriction::of_seccomp(a, b, c),
        libc::SYS_prctl => Restriction::of_prctl(a, b, c),
        libc::SYS_unshare => Restriction::of_unshare(a),
        libc::SYS_setns => Restriction::of_setns(b),
        _ => None,
    };
    if let Some(restriction) = restriction {
        sandbox::prepare(restriction);
    }
    // SAFETY: by the contract.
    sys::returned(unsafe { sys::call(number, [a, b, c, d, e, f]) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls of this test are those of the functions above.
    #[test]
    fn calls_and_errors_are_those_of_the_kernel() {
        // SAFETY: the call has no arguments.
        let process = unsafe { libc::syscall(libc::SYS_getpid) };
        assert_eq!(process, c_long::from(std::process::id()));
        // SAFETY: there is no such descriptor.
        assert_eq!(unsafe { libc::syscall(libc::SYS_close, -1) }, -1);
        assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EBADF));
        // SAFETY: the call takes integers.
        assert_eq!(unsafe { libc::prctl(libc::PR_GET_DUMPABLE, 0, 0, 0, 0) }, 1);
    }

    #[test]
    fn a_signal_stack_is_known_until_it_is_disabled() {
        let mut memory = vec![0u8; 64 << 10];
        let stack =
            |flags| libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: flags, ss_size: 0 };
        let start = memory.as_mut_ptr();
        let set = libc::stack_t { ss_sp: start.cast(), ss_size: memory.len(), ..stack(0) };
        let mut before = stack(libc::SS_DISABLE);
        // SAFETY: the memory lives until the stack is replaced below.
        assert_eq!(unsafe { libc::sigaltstack(&raw const set, &raw mut before) }, 0);
        assert_eq!(signals::stack(), Some(start.addr()..start.addr() + memory.len()));
        // SAFETY: the stack is the one from before.
        assert_eq!(unsafe { libc::sigaltstack(&raw const before, std::ptr::null_mut()) }, 0);
        let is_disabled = before.ss_flags & libc::SS_DISABLE != 0;
        assert_eq!(signals::stack().is_none(), is_disabled);
    }
}
