//! The names of system calls.

use std::borrow::Cow;

use syscalls::{aarch64, x86_64};

/// The architecture whose system calls have names. The numbers of 32-bit programs are others, and
/// get the names of its 64-bit programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallNames {
    /// None is known: the names are those of the numbers, such as `syscall 202`.
    #[default]
    Unknown,
    /// 64-bit Arm.
    Aarch64,
    /// x86-64.
    X86_64,
}

impl CallNames {
    /// Returns the names of this machine.
    #[must_use]
    pub fn of_this_machine() -> Self {
        Self::of_architecture(std::env::consts::ARCH)
    }

    /// Returns the names of an architecture, as uname(2) calls it.
    #[must_use]
    pub fn of_architecture(name: &str) -> Self {
        match name {
            "aarch64" => Self::Aarch64,
            "x86_64" => Self::X86_64,
            _ => Self::Unknown,
        }
    }

    /// Returns the name of a system call.
    #[must_use]
    pub fn name(self, number: i64) -> Cow<'static, str> {
        let index = usize::try_from(number).ok();
        let name = index.and_then(|index| match self {
            Self::Unknown => None,
            Self::Aarch64 => aarch64::Sysno::new(index).map(|call| call.name()),
            Self::X86_64 => x86_64::Sysno::new(index).map(|call| call.name()),
        });
        name.map_or_else(|| format!("syscall {number}").into(), Cow::Borrowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_names_of_their_architecture() {
        let names = |number| {
            ["aarch64", "x86_64", "s390x"].map(|of| CallNames::of_architecture(of).name(number))
        };
        assert_eq!(names(98), ["futex", "getrusage", "syscall 98"]);
        assert_eq!(names(9999), ["syscall 9999"; 3]);
        assert_eq!(names(-1), ["syscall -1"; 3]);
    }

    /// The C library's numbers are those of this machine.
    #[cfg(all(target_os = "linux", any(target_arch = "aarch64", target_arch = "x86_64")))]
    #[test]
    fn names_are_those_of_this_machine() {
        let names = CallNames::of_this_machine();
        for (number, name) in [
            (libc::SYS_read, "read"),
            (libc::SYS_futex, "futex"),
            (libc::SYS_io_uring_enter, "io_uring_enter"),
            (libc::SYS_pidfd_open, "pidfd_open"),
        ] {
            assert_eq!(names.name(number), name);
        }
    }
}
