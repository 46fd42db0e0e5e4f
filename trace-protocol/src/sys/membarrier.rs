//! The system call [membarrier(2)](https://man7.org/linux/man-pages/man2/membarrier.2.html).

pub(crate) use imp::{expedited, register};

#[cfg(all(target_os = "linux", not(loom), not(miri)))]
mod imp {
    const PRIVATE_EXPEDITED: libc::c_long = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: libc::c_long = 1 << 4;

    fn call(command: libc::c_long) -> bool {
        // SAFETY: membarrier takes three integers and touches no memory of the caller.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    pub(crate) fn register() -> bool {
        call(REGISTER_PRIVATE_EXPEDITED)
    }

    pub(crate) fn expedited() -> bool {
        call(PRIVATE_EXPEDITED)
    }
}

#[cfg(not(all(target_os = "linux", not(loom), not(miri))))]
mod imp {
    /// In the model the light fence is a full fence, so `membarrier` is not required.
    pub(crate) fn register() -> bool {
        cfg!(loom)
    }

    pub(crate) fn expedited() -> bool {
        true
    }
}

#[cfg(all(test, target_os = "linux", not(loom), not(miri)))]
mod tests {
    /// Any process may register, and needs to before it can have others run a barrier.
    #[test]
    fn the_kernel_runs_barriers_for_who_registered() {
        assert!(super::register());
        assert!(super::expedited());
    }
}
