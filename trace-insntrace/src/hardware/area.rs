//! The AUX areas of events.

use std::io;
use std::os::fd::BorrowedFd;

use trace_kernel::perf_data::AuxQueue;
use trace_kernel::perf_event::{AuxBuffer, AuxOptions, Target};

use super::aux::AuxArea;
use super::settings::Settings;

/// The smallest area in bytes.
pub(crate) const LEAST_BYTES: u64 = 16 << 10;

/// An AUX area whose events can be turned on and off.
pub trait Area: AuxArea {
    /// Returns a descriptor of each event, which is readable when the kernel has written a record,
    /// and is hung up when the threads of the event have ended.
    fn files(&self) -> impl Iterator<Item = BorrowedFd<'_>>;

    /// Turns the events on or off.
    ///
    /// # Errors
    ///
    /// The kernel refuses it.
    fn set_enabled(&mut self, is_enabled: bool) -> io::Result<()>;
}

/// The AUX area of events of the kernel.
#[derive(Debug)]
pub struct EventArea {
    buffer: AuxBuffer,
    cpu: Option<u16>,
}

impl EventArea {
    /// Opens the events of these targets on each CPU, which are off. All areas have one size.
    pub(super) fn open_all(
        settings: &Settings,
        targets: &[Target],
        cpus: &[u16],
        on_exec: bool,
    ) -> io::Result<Vec<(AuxQueue, Self)>> {
        with_memory(settings, |settings| Self::open_each(settings, targets, cpus, on_exec))
    }

    fn open_each(
        settings: &Settings,
        targets: &[Target],
        cpus: &[u16],
        on_exec: bool,
    ) -> io::Result<Vec<(AuxQueue, Self)>> {
        on_each(cpus, |cpu| Self::open_on(settings, targets, cpu, on_exec))
    }

    /// Opens the events of the targets that live.
    fn open_on(
        settings: &Settings,
        targets: &[Target],
        cpu: u16,
        on_exec: bool,
    ) -> io::Result<Self> {
        let mut last = io::Error::from_raw_os_error(libc::ESRCH);
        for (index, target) in targets.iter().enumerate() {
            match Self::open(settings, *target, Some(cpu), on_exec) {
                Ok(mut area) => {
                    let others = targets.get(index + 1..).unwrap_or_default();
                    area.add(settings, others)?;
                    return Ok(area);
                }
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    /// Opens the event of one target: on a CPU or, of one thread, on all.
    pub(crate) fn open(
        settings: &Settings,
        target: Target,
        cpu: Option<u16>,
        on_exec: bool,
    ) -> io::Result<Self> {
        let options = AuxOptions { enable_on_exec: on_exec, ..options(settings) };
        let bytes = usize::try_from(settings.aux_bytes).unwrap_or(usize::MAX);
        let opened = AuxBuffer::open(&options, target, cpu, bytes, settings.overwrites);
        opened.map(|buffer| Self { buffer, cpu })
    }

    /// Adds threads, and returns their number. Those that have ended, or have inherited the event,
    /// are left out.
    pub(super) fn add(&mut self, settings: &Settings, targets: &[Target]) -> io::Result<usize> {
        let Some(cpu) = self.cpu else { return Ok(0) };
        let mut added = 0;
        for target in targets {
            match self.buffer.add(&options(settings), *target, cpu) {
                Ok(()) => added += 1,
                Err(error) if matches!(error.raw_os_error(), Some(libc::ESRCH | libc::EBUSY)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(added)
    }
}

/// Calls `open` with each CPU, and leaves out those that have gone offline meanwhile. Fails if none
/// is left.
fn on_each<T>(
    cpus: &[u16],
    mut open: impl FnMut(u16) -> io::Result<T>,
) -> io::Result<Vec<(AuxQueue, T)>> {
    let mut areas = Vec::new();
    let mut last = io::Error::from_raw_os_error(libc::ENODEV);
    for cpu in cpus.iter().copied() {
        match open(cpu) {
            Ok(area) => {
                let queue = AuxQueue { index: cpu.into(), thread: None, cpu: Some(cpu.into()) };
                areas.push((queue, area));
            }
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => last = error,
            Err(error) => return Err(error),
        }
    }
    if areas.is_empty() {
        return Err(last);
    }
    Ok(areas)
}

/// Calls `open` with smaller and smaller areas, as long as there is not enough memory.
fn with_memory<T>(
    settings: &Settings,
    mut open: impl FnMut(&Settings) -> io::Result<T>,
) -> io::Result<T> {
    let mut settings = settings.clone();
    loop {
        match open(&settings) {
            // This user may not lock as much memory, or there is none.
            Err(error) if has_no_memory(&error) && settings.aux_bytes > LEAST_BYTES => {
                settings.aux_bytes /= 2;
            }
            opened => return opened,
        }
    }
}

fn options(settings: &Settings) -> AuxOptions {
    AuxOptions {
        kind: settings.kind,
        config: settings.config,
        exclude_kernel: settings.exclude_kernel,
        exclude_user: settings.exclude_user,
        enable_on_exec: false,
        filter: settings.filter.clone(),
    }
}

fn has_no_memory(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOMEM))
}

impl AuxArea for EventArea {
    fn size(&self) -> usize {
        self.buffer.size()
    }

    fn head(&self) -> u64 {
        self.buffer.head()
    }

    fn set_tail(&mut self, tail: u64) {
        self.buffer.set_tail(tail);
    }

    fn append_to(&self, bytes: &mut Vec<u8>, start: usize, length: usize) {
        self.buffer.append_to(bytes, start, length);
    }

    fn take_records(&mut self) -> Vec<u8> {
        self.buffer.take_records()
    }
}

impl Area for EventArea {
    fn files(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.buffer.files()
    }

    fn set_enabled(&mut self, is_enabled: bool) -> io::Result<()> {
        self.buffer.set_enabled(is_enabled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: Settings = Settings {
        kind: 0,
        config: 0,
        ctl: 0,
        exclude_kernel: true,
        exclude_user: false,
        aux_bytes: 4 << 20,
        overwrites: false,
        filter: String::new(),
    };

    /// Opens an area for each of so many CPUs, of this memory. Returns their sizes.
    fn open(cpus: usize, memory: u64, error: i32) -> io::Result<Vec<u64>> {
        with_memory(&SETTINGS, |settings| {
            let mut left = memory;
            let area = |_| {
                let rest = left.checked_sub(settings.aux_bytes);
                left = rest.ok_or_else(|| io::Error::from_raw_os_error(error))?;
                Ok(settings.aux_bytes)
            };
            (0..cpus).map(area).collect()
        })
    }

    #[test]
    fn cpus_that_are_offline_are_left_out_but_not_all_of_them() {
        let open = |offline: &'static [u16], error: i32| {
            let areas = on_each(&[0, 1, 3], |cpu| match offline.contains(&cpu) {
                true => Err(io::Error::from_raw_os_error(error)),
                false => Ok(cpu),
            });
            let cpus = |areas: Vec<(AuxQueue, u16)>| {
                areas.into_iter().map(|(queue, cpu)| (queue.cpu, cpu)).collect::<Vec<_>>()
            };
            areas.map(cpus).map_err(|error| error.raw_os_error())
        };
        assert_eq!(open(&[1], libc::ENODEV), Ok(vec![(Some(0), 0), (Some(3), 3)]));
        assert_eq!(open(&[0, 1, 3], libc::ENODEV), Err(Some(libc::ENODEV)));
        assert_eq!(open(&[1], libc::EMFILE), Err(Some(libc::EMFILE)));
    }

    #[test]
    fn all_cpus_have_areas_of_one_size() {
        assert_eq!(open(4, 1 << 30, libc::EPERM).unwrap(), [4 << 20; 4]);
        for error in [libc::EPERM, libc::ENOMEM] {
            assert_eq!(open(4, 5 << 20, error).unwrap(), [1 << 20; 4]);
            assert_eq!(open(32, 512 << 10, error).unwrap(), [16 << 10; 32]);
        }
    }

    #[test]
    fn too_little_memory_and_other_errors_are_reported() {
        let code = |result: io::Result<Vec<u64>>| result.unwrap_err().raw_os_error();
        assert_eq!(code(open(33, 512 << 10, libc::EPERM)), Some(libc::EPERM));
        assert_eq!(code(open(2, 4 << 20, libc::EMFILE)), Some(libc::EMFILE));
    }
}
