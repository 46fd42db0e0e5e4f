//! The parts of a file before its pages, which both versions have.

use std::collections::HashSet;
use std::io::Read;

use super::error::TraceDatError;
use super::fields::Fields;
use crate::byte_order::ByteOrder;
use crate::format::{check_event_header, page_layout, EventFormat};
use crate::page::PageLayout;

/// The most areas of pages in a file: one for each CPU of each buffer.
const MAX_AREAS: usize = 16_384;

/// What a file has before its pages.
#[derive(Debug, Default)]
pub(crate) struct Metadata {
    pub(crate) order: ByteOrder,
    pub(crate) layout: Option<PageLayout>,
    pub(crate) formats: Vec<EventFormat>,
    /// Threads and their names.
    pub(crate) names: Vec<(u64, String)>,
    pub(crate) clock: String,
    pub(crate) ticks_per_second: Option<u64>,
    pub(crate) cpus: Vec<CpuData>,
}

/// The pages of a CPU in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuData {
    pub(crate) cpu: u16,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) is_compressed: bool,
    /// The bytes of a page, if the file has them for the buffer.
    pub(crate) page_size: Option<usize>,
}

/// The options that both versions have, by their numbers in either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    TraceClock,
    TscToNanoseconds,
}

impl Metadata {
    /// Reads `header_page` and `header_event`.
    pub(crate) fn header_info<R: Read>(
        &mut self,
        fields: &mut Fields<R>,
    ) -> Result<(), TraceDatError> {
        fields.expect(b"header_page\0", "header_page")?;
        let size = fields.u64()?;
        self.layout = Some(page_layout(&fields.text(size)?, self.order)?);
        fields.expect(b"header_event\0", "header_event")?;
        let size = fields.u64()?;
        Ok(check_event_header(&fields.text(size)?)?)
    }

    /// Reads the formats of the system `ftrace`.
    pub(crate) fn ftrace_formats<R: Read>(
        &mut self,
        fields: &mut Fields<R>,
    ) -> Result<(), TraceDatError> {
        let count = fields.u32()?;
        self.system_formats(fields, "ftrace", count)
    }

    /// Reads the formats of all other systems.
    pub(crate) fn event_formats<R: Read>(
        &mut self,
        fields: &mut Fields<R>,
    ) -> Result<(), TraceDatError> {
        for _ in 0..fields.u32()? {
            let (system, count) = (fields.string()?, fields.u32()?);
            self.system_formats(fields, &system, count)?;
        }
        Ok(())
    }

    /// Events of a format that cannot be parsed are events without a format.
    fn system_formats<R: Read>(
        &mut self,
        fields: &mut Fields<R>,
        system: &str,
        count: u32,
    ) -> Result<(), TraceDatError> {
        for _ in 0..count {
            let size = fields.u64()?;
            self.formats.extend(EventFormat::parse(system, &fields.text(size)?).ok());
        }
        Ok(())
    }

    /// Reads lines of a thread and its name.
    pub(crate) fn names<R: Read>(&mut self, fields: &mut Fields<R>) -> Result<(), TraceDatError> {
        let size = fields.u64()?;
        let text = fields.text(size)?;
        let names = text.lines().filter_map(|line| line.trim().split_once(' '));
        let names = names.filter_map(|(thread, name)| Some((thread.parse().ok()?, name.into())));
        self.names.extend(names);
        Ok(())
    }

    /// Adds the areas of a buffer. Each CPU has one, as memory is proportional to their number.
    pub(crate) fn add_buffer(&mut self, areas: Vec<CpuData>) -> Result<(), TraceDatError> {
        let mut cpus = HashSet::new();
        if !areas.iter().all(|area| cpus.insert(area.cpu)) {
            return Err(TraceDatError::Malformed("buffer: a CPU is repeated"));
        }
        self.cpus.extend(areas);
        match self.cpus.len() <= MAX_AREAS {
            true => Ok(()),
            false => Err(TraceDatError::Malformed("buffers: too many CPUs")),
        }
    }

    /// Checks that no bytes of the file are pages of two CPUs: they would be decompressed twice.
    pub(crate) fn check_areas(&self) -> Result<(), TraceDatError> {
        let areas = self.cpus.iter().filter(|area| area.size > 0);
        let mut areas: Vec<_> = areas.map(|area| (area.offset, area.size)).collect();
        areas.sort_unstable();
        let starts = areas.iter().skip(1).map(|(start, _)| start);
        let mut pairs = areas.iter().zip(starts);
        match pairs.all(|((offset, size), next)| offset.saturating_add(*size) <= *next) {
            true => Ok(()),
            false => Err(TraceDatError::Malformed("buffers: data of CPUs overlap")),
        }
    }

    /// Takes an option.
    pub(crate) fn set(&mut self, setting: Setting, data: &[u8]) -> Result<(), TraceDatError> {
        let mut fields = Fields::new(data, self.order);
        match setting {
            Setting::TraceClock => self.clock = chosen(&fields.text(data.len() as u64)?).into(),
            Setting::TscToNanoseconds => {
                let (multiplier, shift) = (fields.u32()?, fields.u32()?);
                self.ticks_per_second = rate(multiplier, shift);
            }
        }
        Ok(())
    }
}

/// Returns the clock in brackets, as in `local [mono] boot`.
pub(crate) fn chosen(clocks: &str) -> &str {
    let clock = clocks.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    clock.map_or(clocks, |(clock, _)| clock).trim()
}

/// Returns the ticks per second of a clock of which `multiplier >> shift` ticks are nanoseconds.
fn rate(multiplier: u32, shift: u32) -> Option<u64> {
    let ticks = 1_000_000_000_u128.checked_shl(shift).filter(|_| shift < 64)?;
    let rate = ticks.checked_div(multiplier.into())?;
    u64::try_from(rate).ok().filter(|rate| *rate > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks() {
        assert_eq!(chosen("local [mono] boot\n"), "mono");
        assert_eq!(chosen("x86-tsc"), "x86-tsc");
        assert_eq!(rate(1 << 31, 32), Some(2_000_000_000));
        assert_eq!(rate(0, 32), None);
        assert_eq!(rate(1, 64), None);
        assert_eq!(rate(1, 63), None);
    }
}
