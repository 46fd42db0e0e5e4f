//! System calls that change code, or give it to others.

use std::ops::Range;

use libc::c_long;

use super::maps::{page_of, PAGE_BYTES};

/// The instruction `syscall`.
pub(super) const SYSTEM_CALL: &[u8] = &[0x0f, 0x05];

/// The bit of x32 system calls.
const X32: u64 = 1 << 30;

/// Turns on shadow stacks, which hold a copy of each return address: `arch_prctl`.
const ARCH_SHSTK_ENABLE: u64 = 0x5001;

/// Creates a `userfaultfd`: `ioctl` of `/dev/userfaultfd`.
const USERFAULTFD_IOC_NEW: u64 = 0xaa00;

/// All addresses.
pub(super) const EVERYTHING: Range<u64> = 0..u64::MAX;

/// What a system call does to the code of its process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    Nothing,
    /// The code of these addresses may change.
    Changes(Range<u64>),
    /// Another process gets a copy.
    Copies,
    /// Another process uses the code until the call returns.
    Lends,
    /// From now on the code is used by a process that the tracer does not see, or the tracer cannot
    /// execute branches.
    Shares,
}

impl Effect {
    /// Returns the effect of the call `number` with its first arguments. `read` reads a word of the
    /// program.
    pub(super) fn of(
        number: u64,
        [first, second, third, fourth]: [u64; 4],
        read: impl Fn(u64) -> Option<u64>,
    ) -> Self {
        let has = |flags: u64, flag: i32| flags & flag as u64 != 0;
        // The kernel takes the number from `eax`.
        match (u64::from(number as u32) & !X32) as c_long {
            libc::SYS_mprotect
            | libc::SYS_pkey_mprotect
            | libc::SYS_munmap
            | libc::SYS_madvise
            | libc::SYS_remap_file_pages => Self::Changes(pages(first, second)),
            libc::SYS_mmap if has(fourth, libc::MAP_FIXED) => Self::Changes(pages(first, second)),
            libc::SYS_mremap if has(fourth, libc::MREMAP_FIXED) => Self::Changes(EVERYTHING),
            libc::SYS_mremap => Self::Changes(pages(first, second)),
            libc::SYS_shmat if has(third, libc::SHM_REMAP) => Self::Changes(EVERYTHING),
            libc::SYS_process_madvise => Self::Changes(EVERYTHING),
            libc::SYS_arch_prctl if first == ARCH_SHSTK_ENABLE => Self::Shares,
            libc::SYS_userfaultfd => Self::Shares,
            libc::SYS_ioctl if second == USERFAULTFD_IOC_NEW => Self::Shares,
            libc::SYS_fork => Self::Copies,
            libc::SYS_vfork => Self::Lends,
            libc::SYS_clone => Self::of_clone(first),
            libc::SYS_clone3 => read(first).map_or(Self::Shares, Self::of_clone),
            _ => Self::Nothing,
        }
    }

    fn of_clone(flags: u64) -> Self {
        let has = |flag: i32| flags & u64::from(flag as u32) != 0;
        if !has(libc::CLONE_VM) {
            return Self::Copies;
        }
        match (has(libc::CLONE_UNTRACED), has(libc::CLONE_THREAD), has(libc::CLONE_VFORK)) {
            (false, true, _) => Self::Nothing,
            (false, false, true) => Self::Lends,
            _ => Self::Shares,
        }
    }

    /// Returns whether a process that the call creates uses the same memory.
    pub(super) fn lends(&self) -> bool {
        matches!(self, Self::Lends | Self::Shares)
    }

    /// Returns the addresses whose code is uncertain during the call, or `None` if all is certain.
    pub(super) fn addresses(&self) -> Option<Range<u64>> {
        match self {
            Self::Nothing => None,
            Self::Changes(addresses) => Some(addresses.clone()),
            Self::Copies | Self::Lends | Self::Shares => Some(EVERYTHING),
        }
    }
}

/// Returns the addresses of the pages of a part of memory.
fn pages(start: u64, size: u64) -> Range<u64> {
    let end = start.saturating_add(size).saturating_add(PAGE_BYTES - 1);
    page_of(start)..page_of(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(number: c_long, arguments: [u64; 4]) -> Effect {
        Effect::of(number as u64, arguments, |address| (address != 0).then_some(address))
    }

    #[test]
    fn calls_that_map_memory_change_its_pages() {
        let changes = Effect::Changes(0x1000..0x3000);
        for number in [libc::SYS_mprotect, libc::SYS_munmap, libc::SYS_madvise, libc::SYS_mremap] {
            assert_eq!(effect(number, [0x1800, 0x1000, 0, 0]), changes);
            assert_eq!(effect(number | X32 as c_long, [0x1800, 0x1000, 0, 0]), changes);
            let with_high_bits = number | 0x1234_5678 << 32;
            assert_eq!(effect(with_high_bits, [0x1800, 0x1000, 0, 0]), changes);
        }
        let fixed = libc::MAP_FIXED as u64;
        assert_eq!(effect(libc::SYS_mmap, [0x1000, 0x1001, 0, fixed]), changes);
        assert_eq!(effect(libc::SYS_mmap, [0x1000, 0x1001, 0, 0]), Effect::Nothing);
        let remap = [0x1000, 0x1000, 0, libc::MREMAP_FIXED as u64];
        assert_eq!(effect(libc::SYS_mremap, remap), Effect::Changes(EVERYTHING));
        let all = effect(libc::SYS_munmap, [0, u64::MAX, 0, 0]);
        assert_eq!(all, Effect::Changes(0..!0xfff));
        assert_eq!(effect(libc::SYS_read, [0x1000, 0x1000, 0, 0]), Effect::Nothing);
    }

    #[test]
    fn calls_that_create_processes_give_them_the_code() {
        let clone = |flags: i32| effect(libc::SYS_clone, [u64::from(flags as u32), 0, 0, 0]);
        assert_eq!(effect(libc::SYS_fork, [0; 4]), Effect::Copies);
        assert_eq!(effect(libc::SYS_vfork, [0; 4]), Effect::Lends);
        assert_eq!(clone(libc::CLONE_UNTRACED), Effect::Copies);
        assert_eq!(clone(libc::CLONE_VM | libc::CLONE_VFORK), Effect::Lends);
        assert_eq!(clone(libc::CLONE_VM | libc::CLONE_THREAD), Effect::Nothing);
        assert_eq!(clone(libc::CLONE_VM), Effect::Shares);
        let untraced = libc::CLONE_VM | libc::CLONE_THREAD | libc::CLONE_UNTRACED;
        assert_eq!(clone(untraced), Effect::Shares);
        let flags = (libc::CLONE_VM | libc::CLONE_VFORK) as u64;
        assert_eq!(effect(libc::SYS_clone3, [flags, 0, 0, 0]), Effect::Lends);
        assert_eq!(effect(libc::SYS_clone3, [0; 4]), Effect::Shares, "not readable");
        assert_eq!(effect(libc::SYS_userfaultfd, [0; 4]), Effect::Shares);
        assert_eq!(effect(libc::SYS_arch_prctl, [ARCH_SHSTK_ENABLE, 1, 0, 0]), Effect::Shares);
    }
}
