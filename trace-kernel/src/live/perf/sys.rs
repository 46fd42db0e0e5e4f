//! `perf_event_open(2)` and the memory that it shares with this process.
#![allow(unsafe_code, reason = "no safe library has the system call and its ring buffer")]

mod mapping;

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

pub(super) use mapping::{AuxMapping, Mapping};

/// The size of `perf_event_attr` in bytes: `PERF_ATTR_SIZE_VER5`, of Linux 4.1.
const ATTR_BYTES: usize = 112;

/// The place of `branch_sample_type` in `perf_event_attr`, as a number of 64-bit words.
const BRANCHES_WORD: usize = 72 / 8;

/// The place of `sample_regs_user` in `perf_event_attr`, as a number of 64-bit words.
const REGISTERS_WORD: usize = 80 / 8;

/// The place of `sample_stack_user`, and after it `clockid`.
const STACK_WORD: usize = 88 / 8;

/// The bits of `sample_type` for the thread, the time and the CPU.
pub(super) const SAMPLE_TID_TIME_CPU: u64 = 1 << 1 | 1 << 2 | 1 << 7;

/// The bits of `read_format` for the times that an event was enabled and that it counted.
const FORMAT_TIMES: u64 = 1 << 0 | 1 << 1;
const FORMAT_LOST: u64 = 1 << 4;

/// The bits of the flags of each event: `disabled`, `exclude_hv`, `comm`, `task`, `sample_id_all`,
/// `comm_exec` and `use_clockid`.
const FLAGS: [u32; 7] = [0, 6, 9, 13, 18, 24, 25];
const INHERIT: u32 = 1;

const IOC_ENABLE: libc::c_ulong = 0x2400;
const IOC_DISABLE: libc::c_ulong = 0x2401;
const IOC_SET_OUTPUT: libc::c_ulong = 0x2405;
/// Its argument is a pointer, whose size is a part of the number.
const IOC_SET_FILTER: libc::c_ulong =
    0x4000_2406 | (size_of::<*const libc::c_char>() as libc::c_ulong) << 16;
const FLAG_PID_CGROUP: libc::c_ulong = 1 << 2;
const FLAG_FD_CLOEXEC: libc::c_ulong = 1 << 3;

/// The threads of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// A thread, and the threads and processes that it creates.
    Thread(u64),
    /// A thread alone.
    OneThread(u64),
    /// All threads.
    Cpu,
    /// The threads of the control group whose directory has this descriptor.
    Cgroup(RawFd),
}

/// What an event counts, and its records: fields of `perf_event_attr`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Attributes {
    pub(super) kind: u32,
    pub(super) config: u64,
    /// Samples a second with the flag `freq`, else the number of events between two samples; 0 for
    /// no samples.
    pub(super) rate: u64,
    /// The fields of samples, and of the end of other records.
    pub(super) sample_type: u64,
    /// Bits of the flags, beside those of each event.
    pub(super) flags: u64,
    /// The branches in samples: bits of `branch_sample_type`.
    pub(super) branches: u64,
    /// The registers in samples, as bits.
    pub(super) registers: u64,
    /// The bytes of the stack in samples.
    pub(super) stack: u32,
}

impl Count {
    /// Returns the part of it since an earlier one.
    pub(super) fn since(self, earlier: &Self) -> Self {
        Self {
            value: self.value.saturating_sub(earlier.value),
            enabled: self.enabled.saturating_sub(earlier.enabled),
            running: self.running.saturating_sub(earlier.running),
        }
    }
}

/// An event of threads on one CPU, or on all.
#[derive(Debug)]
pub(super) struct Event {
    file: OwnedFd,
    counts_losses: bool,
}

/// The value of an event. If there are more events than the CPU has counters, each counts for a
/// part of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) value: u64,
    /// The time that the event was enabled in nanoseconds.
    pub(super) enabled: u64,
    /// The part of it in which the event counted.
    pub(super) running: u64,
}

impl Event {
    /// Opens an event, which is off: on one CPU or, of one thread, on all.
    pub(super) fn open(
        attributes: &Attributes,
        target: Target,
        cpu: impl Into<Option<u16>>,
    ) -> io::Result<Self> {
        let cpu = cpu.into();
        match Self::open_with(attributes, target, cpu, FORMAT_LOST) {
            // Linux before 6.0 does not count the records that it dropped.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                Self::open_with(attributes, target, cpu, 0)
            }
            opened => opened,
        }
    }

    /// Opens an event without records, which is off: on one CPU or, of threads, on all.
    pub(super) fn open_counter(
        attributes: &Attributes,
        target: Target,
        cpu: Option<u16>,
    ) -> io::Result<Self> {
        Self::open_with(attributes, target, cpu, FORMAT_TIMES)
    }

    fn open_with(
        attributes: &Attributes,
        target: Target,
        cpu: Option<u16>,
        read_format: u64,
    ) -> io::Result<Self> {
        let attr = attributes.words(target, read_format);
        let (thread, flags) = match target {
            Target::Thread(thread) | Target::OneThread(thread) => {
                (libc::pid_t::try_from(thread).map_err(|_| io::ErrorKind::NotFound)?, 0)
            }
            Target::Cpu => (-1, 0),
            Target::Cgroup(directory) => (directory, FLAG_PID_CGROUP),
        };
        let flags = flags | FLAG_FD_CLOEXEC;
        let (cpu, group) = (cpu.map_or(-1, libc::c_int::from), -1 as libc::c_int);
        let attr = attr.as_ptr();
        // SAFETY: `attr` has as many bytes as its second half-word states, and lives through the
        // call, which only reads it.
        let file =
            unsafe { libc::syscall(libc::SYS_perf_event_open, attr, thread, cpu, group, flags) };
        let file = i32::try_from(file).ok().filter(|file| *file >= 0);
        let file = file.ok_or_else(io::Error::last_os_error)?;
        // SAFETY: the call has created the descriptor, which has no other owner.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        Ok(Self { file, counts_losses: read_format == FORMAT_LOST })
    }

    /// Starts or stops the event, also in the threads that inherited it.
    pub(super) fn set_enabled(&self, is_enabled: bool) -> io::Result<()> {
        self.control(if is_enabled { IOC_ENABLE } else { IOC_DISABLE }, 0)
    }

    /// Writes the records of this event to the ring buffer of another one of the same CPU.
    pub(super) fn write_to(&self, owner: &Self) -> io::Result<()> {
        self.control(IOC_SET_OUTPUT, owner.file.as_raw_fd())
    }

    /// Restricts tracing to addresses, in the syntax of the kernel.
    pub(super) fn set_filter(&self, filter: &CStr) -> io::Result<()> {
        let filter = filter.as_ptr();
        // SAFETY: the descriptor is open, and this request reads a text that ends with a zero and
        // lives through the call.
        let done = unsafe { libc::ioctl(self.file.as_raw_fd(), IOC_SET_FILTER as _, filter) };
        if done < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }

    fn control(&self, request: libc::c_ulong, argument: libc::c_int) -> io::Result<()> {
        // SAFETY: the descriptor is open, and these requests take an integer.
        let done = unsafe { libc::ioctl(self.file.as_raw_fd(), request as _, argument) };
        if done < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }

    /// Returns the number of records that the kernel has dropped, or 0 if it does not count them.
    pub(super) fn lost(&self) -> io::Result<u64> {
        if !self.counts_losses {
            return Ok(0);
        }
        // The event's value, then the dropped records.
        let mut values = [0; 16];
        rustix::io::read(&self.file, &mut values)?;
        Ok(values.last_chunk().map_or(0, |lost| u64::from_ne_bytes(*lost)))
    }

    /// Returns the value of an event of [`Event::open_counter`], with those of the threads that
    /// inherited it.
    pub(super) fn count(&self) -> io::Result<Count> {
        let mut bytes = [0; 24];
        if rustix::io::read(&self.file, &mut bytes)? < bytes.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut words =
            bytes.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_ne_bytes));
        let mut next = || words.next().unwrap_or_default();
        Ok(Count { value: next(), enabled: next(), running: next() })
    }
}

impl AsFd for Event {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Attributes {
    /// Returns a `perf_event_attr`.
    fn words(&self, target: Target, read_format: u64) -> [u64; ATTR_BYTES / 8] {
        let own = if matches!(target, Target::Thread(_)) { 1 << INHERIT } else { 0 };
        let flags = FLAGS.iter().fold(self.flags | own, |flags, bit| flags | 1 << bit);
        // A bit field begins with the highest bit if the order of bytes is big-endian.
        let flags = if cfg!(target_endian = "big") { flags.reverse_bits() } else { flags };
        let mut words = [0; ATTR_BYTES / 8];
        let head = [pair(self.kind, ATTR_BYTES as u32), self.config, self.rate];
        let fields = head.into_iter().chain([self.sample_type, read_format, flags]);
        words.iter_mut().zip(fields).for_each(|(word, field)| *word = field);
        words[BRANCHES_WORD] = self.branches;
        words[REGISTERS_WORD] = self.registers;
        words[STACK_WORD] = pair(self.stack, libc::CLOCK_MONOTONIC_RAW as u32);
        words
    }
}

/// Returns two neighbouring 32-bit fields.
fn pair(first: u32, second: u32) -> u64 {
    let mut bytes = [0; 8];
    let (front, back) = bytes.split_at_mut(4);
    front.copy_from_slice(&first.to_ne_bytes());
    back.copy_from_slice(&second.to_ne_bytes());
    u64::from_ne_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_at_their_places() {
        let attributes = Attributes {
            kind: 1,
            config: 9,
            rate: 1000,
            sample_type: 0x86,
            flags: 1 << 5 | 1 << 26,
            branches: 9,
            registers: 0x77,
            stack: 8192,
        };
        let words = attributes.words(Target::Thread(1), FORMAT_LOST);
        let attr: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let long = |offset: usize| u64::from_ne_bytes(attr[offset..][..8].try_into().unwrap());
        let short = |offset: usize| u32::from_ne_bytes(attr[offset..][..4].try_into().unwrap());
        assert_eq!([short(0), short(4)], [1, 112]);
        assert_eq!([long(8), long(16), long(24), long(32)], [9, 1000, 0x86, 16]);
        #[cfg(target_endian = "little")]
        assert_eq!(long(40), 0x0704_2263);
        assert_eq!([long(72), long(80)], [9, 0x77]);
        assert_eq!([short(88), short(92)], [8192, 4]);
        assert_eq!(attributes.words(Target::Cgroup(3), 0), attributes.words(Target::Cpu, 0));
        let of_cpu = attributes.words(Target::Cpu, 0);
        #[cfg(target_endian = "little")]
        assert_eq!(of_cpu[5], 0x0704_2261);
        assert_eq!(of_cpu[4], 0);
        assert_eq!(attributes.words(Target::Cpu, FORMAT_TIMES)[4], 3);
        assert_eq!(attributes.words(Target::OneThread(1), 0), of_cpu, "it is not inherited");
    }

    /// The kernel reads the text, and refuses it for an event without addresses.
    #[test]
    fn filters_are_texts() {
        let attributes = Attributes { kind: 1, config: 9, ..Attributes::default() };
        let own = Target::OneThread(std::process::id().into());
        // A sandbox may not have the call.
        let Ok(event) = Event::open(&attributes, own, None) else { return };
        let error = event.set_filter(c"filter 0x1000/0x10@/bin/true").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
    }
}
