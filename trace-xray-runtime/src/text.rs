//! Access to program text: by `/proc/self/mem`, or, where the kernel does not permit that, by
//! making pages writable.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

use crate::sys;

/// How program text was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// By `/proc/self/mem`: no page is ever writable.
    Memory,
    /// By mprotect(2): a page is writable and executable while it is written.
    Protection,
}

impl Way {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "/proc/self/mem",
            Self::Protection => "mprotect: pages were writable and executable",
        }
    }
}

/// The text of this process.
///
/// It is opened for each use: a forked child that inherits the file would write to its parent.
#[derive(Debug)]
pub(crate) struct Text {
    /// `/proc/self/mem`, if it can be opened.
    memory: Option<File>,
    /// Whether text was written by mprotect(2).
    was_protected: bool,
}

/// Returns bytes of a sled, or behind it.
///
/// They are text, as [`write`](Text::write) needs it.
pub(crate) fn read<const N: usize>(address: u64) -> [u8; N] {
    // SAFETY: sleds, and what is read behind them, are inside of a readable segment, as
    // `Object::contains` has found, whose object is loaded.
    unsafe { sys::read_text(address as usize) }
}

impl Text {
    pub(crate) fn open() -> Self {
        Self::new(OpenOptions::new().write(true).open("/proc/self/mem").ok())
    }

    fn new(memory: Option<File>) -> Self {
        Self { memory, was_protected: false }
    }

    /// Returns how text was written: by mprotect(2) if a part of it was.
    pub(crate) fn way(&self) -> Way {
        if self.was_protected {
            Way::Protection
        } else {
            Way::Memory
        }
    }

    /// Writes bytes of a sled. The kernel copies the page before the first write to it.
    ///
    /// # Errors
    /// It is not mapped, or neither way is permitted.
    pub(crate) fn write(&mut self, address: u64, bytes: &[u8]) -> io::Result<()> {
        // Other text may be writable in this way although this is not.
        let memory = self.memory.as_ref();
        if memory.is_some_and(|memory| memory.write_all_at(bytes, address).is_ok()) {
            return Ok(());
        }
        // SAFETY: sleds are inside of a segment of text, as `Object::contains` has found, whose
        // object is loaded; the order of writes is that of `sled`.
        unsafe { sys::write_text(address as usize, bytes) }?;
        self.was_protected = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> u64 {
        let start = sys::map(0, 4096).unwrap();
        // SAFETY: nothing writes to the page but the test.
        unsafe { sys::make_executable(start, 4096) }.unwrap();
        start.expose_provenance() as u64
    }

    /// The kernel may have joined the page with that of another test.
    fn access(address: u64) -> String {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
        let has_address = |line: &&str| {
            let (start, rest) = line.split_once('-').unwrap();
            let (end, _) = rest.split_once(' ').unwrap();
            (number(start)..number(end)).contains(&address)
        };
        maps.lines().find(has_address).unwrap().split(' ').nth(1).unwrap().to_owned()
    }

    #[test]
    fn text_is_written_in_either_way_and_stays_executable() {
        for (way, mut text) in [(Way::Memory, Text::open()), (Way::Protection, Text::new(None))] {
            let page = page();
            text.write(page + 4085, &[1, 2, 3]).unwrap();
            assert_eq!(read(page + 4084), [0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0]);
            assert_eq!((text.way(), &*access(page)), (way, "r-xp"));
        }
    }

    /// Has the kernel refuse the calling thread to make pages readable and executable only.
    fn refuse_to_protect() {
        let step = |code: u32, k, jt, jf| libc::sock_filter { code: code as u16, jt, jf, k };
        let (load, equal, end) = (
            libc::BPF_LD | libc::BPF_W | libc::BPF_ABS,
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            libc::BPF_RET | libc::BPF_K,
        );
        let mut steps = [
            // The number of the call, and the lower half of its third argument.
            step(load, 0, 0, 0),
            step(equal, libc::SYS_mprotect as u32, 0, 3),
            step(load, 32, 0, 0),
            step(equal, (libc::PROT_READ | libc::PROT_EXEC) as u32, 0, 1),
            step(end, libc::SECCOMP_RET_ERRNO | libc::ENOMEM as u32, 0, 0),
            step(end, libc::SECCOMP_RET_ALLOW, 0, 0),
        ];
        let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
        // SAFETY: it only forbids new privileges.
        let failed = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
        assert_eq!(failed, 0, "{}", io::Error::last_os_error());
        let mode = libc::SECCOMP_MODE_FILTER;
        // SAFETY: the filter and its steps are valid, and refuse no call that the thread needs.
        let failed = unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const filter) };
        assert_eq!(failed, 0, "{}", io::Error::last_os_error());
    }

    #[test]
    fn text_that_stays_writable_is_an_error() {
        let error = std::thread::spawn(|| {
            let (page, mut text) = (page(), Text::new(None));
            refuse_to_protect();
            text.write(page, &[7]).unwrap_err()
        });
        let error = error.join().unwrap();
        assert!(error.to_string().contains("it is writable and executable"), "{error}");
        assert_eq!(error.kind(), io::ErrorKind::OutOfMemory);
    }

    #[test]
    fn text_is_written_by_mprotect_if_the_kernel_refuses_the_other_way() {
        let page = page();
        let mut text = Text::new(File::open("/proc/self/mem").ok());
        text.write(page, &[7]).unwrap();
        assert_eq!((read::<1>(page)[0], text.way()), (7, Way::Protection));
    }
}
