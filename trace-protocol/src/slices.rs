//! Being scheduled soon: for the threads that make room in buffers while others fill them.

/// Asks the scheduler to run the calling thread in short slices, and so, when it wakes up, sooner
/// than threads that compute.
///
/// The thread gets no larger share of the processor by it. Kernels before 6.12 know no slices and
/// do nothing. See [sched_setattr(2)](https://man7.org/linux/man-pages/man2/sched_setattr.2.html).
#[cfg(target_os = "linux")]
pub fn ask_for_short() {
    /// The shortest slice that the kernel grants, in nanoseconds.
    const SHORTEST: u64 = 100_000;
    let mut attributes = Attributes::default();
    let size = size_of::<Attributes>();
    // SAFETY: the kernel writes at most `size` bytes, which `attributes` has, and which are valid
    // whatever they are.
    let got = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
    if got != 0 || attributes.policy != libc::SCHED_OTHER as u32 {
        return;
    }
    attributes.runtime = SHORTEST;
    // SAFETY: the kernel reads as many bytes as the size in `attributes` says, which it filled in
    // itself.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

/// The kernel's `struct sched_attr`, in its first version.
#[cfg(target_os = "linux")]
#[repr(C)]
#[derive(Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    /// Asking changes neither policy nor niceness.
    #[test]
    fn nothing_else_changes() {
        std::thread::spawn(|| {
            super::ask_for_short();
            let mut after = super::Attributes::default();
            let size = size_of::<super::Attributes>();
            // SAFETY: as above.
            let got = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut after, size, 0) };
            assert_eq!((got, after.policy, after.nice), (0, 0, 0));
        })
        .join()
        .unwrap();
    }
}
