//! Short scheduling slices, for the threads that empty buffers while other threads fill them.

/// Requests short scheduling slices for the calling thread, so that it runs soon after a wake-up
/// even if other threads compute.
///
/// The thread's share of the processor does not change. Has no effect on kernels before 6.12. Makes
/// two system calls. See
/// [sched_setattr(2)](https://man7.org/linux/man-pages/man2/sched_setattr.2.html).
#[cfg(target_os = "linux")]
pub fn ask_for_short() {
    /// The shortest slice that the kernel accepts, in nanoseconds.
    const SHORTEST: u64 = 100_000;
    let Some(mut attributes) = Attributes::of_thread() else { return };
    if attributes.policy != libc::SCHED_OTHER as u32 {
        return;
    }
    attributes.runtime = SHORTEST;
    // SAFETY: the kernel reads `attributes.size` bytes, a size that it has filled in itself.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

/// The kernel's `struct sched_attr`, in its first version.
#[cfg(target_os = "linux")]
#[repr(C)]
#[derive(Debug, Default, PartialEq)]
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

#[cfg(target_os = "linux")]
impl Attributes {
    /// Returns the attributes of the calling thread, or `None` if the kernel does not support this
    /// version.
    fn of_thread() -> Option<Self> {
        let mut found = Self::default();
        let size = size_of::<Self>();
        // SAFETY: the kernel writes at most `size` bytes, the size of `found`, and all bytes are
        // valid values.
        let got = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut found, size, 0) };
        (got == 0).then_some(found)
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    /// The request changes neither policy nor niceness.
    #[test]
    fn only_the_slice_changes() {
        let in_a_nicer_thread = || {
            // SAFETY: nice takes a number; on Linux it changes the calling thread only.
            unsafe { libc::nice(3) };
            let before = Attributes::of_thread().unwrap();
            ask_for_short();
            let after = Attributes::of_thread().unwrap();
            assert_eq!(Attributes { runtime: before.runtime, ..after }, before);
        };
        std::thread::spawn(in_a_nicer_thread).join().unwrap();
    }
}
