//! The event source in sysfs.

use core::fmt;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use crate::controller::{ctl, Capabilities, MAX_ADDRESS_RANGES};

/// Where the kernel describes the event source.
const DIRECTORY: &str = "/sys/bus/event_source/devices/intel_pt";

/// The distances of MTC and PSB packets in recordings: 8 ticks of the crystal clock and 16 KiB, as
/// perf has them.
const MTC_PERIOD: u64 = 3;
const PSB_PERIOD: u64 = 3;

/// What sysfs reports about the event source `intel_pt`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pmu {
    kind: u32,
    /// The number of address filters.
    filters: u32,
    caps: BTreeMap<String, u64>,
    /// The bits of `config` that have each option.
    formats: BTreeMap<String, RangeInclusive<u32>>,
    /// The ticks of the time stamp counter for some ticks of the crystal clock.
    crystal_ratio: Option<(u64, u64)>,
    /// The highest frequency without turbo.
    nominal_ratio: Option<u8>,
}

/// Why the processor's tracing cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum Missing {
    /// The kernel has no event source `intel_pt`.
    NoPmu {
        /// Whether the processor reports that it has Intel PT.
        in_processor: bool,
    },
    /// A file of sysfs cannot be read.
    Unreadable(PathBuf, io::Error),
    /// A file of sysfs has an unknown content.
    Malformed(PathBuf),
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPmu { in_processor: true } => {
                write!(f, "the processor has Intel PT, but the kernel has no event source intel_pt")
            }
            Self::NoPmu { in_processor: false } => write!(
                f,
                "no Intel PT: the processor does not have it, or a hypervisor does not expose it"
            ),
            Self::Unreadable(path, error) => write!(f, "cannot read {}: {error}", path.display()),
            Self::Malformed(path) => write!(f, "unknown content of {}", path.display()),
        }
    }
}

impl core::error::Error for Missing {}

impl Pmu {
    /// Reads the event source of this machine.
    ///
    /// # Errors
    ///
    /// Fails if the machine has none, or sysfs cannot be read.
    pub fn find() -> Result<Self, Missing> {
        Self::read(Path::new(DIRECTORY), Path::new("/proc/cpuinfo"))
    }

    /// Reads the event source in `directory`. If it is missing, `cpuinfo` has the reason.
    ///
    /// # Errors
    ///
    /// See [`find`](Self::find).
    pub fn read(directory: &Path, cpuinfo: &Path) -> Result<Self, Missing> {
        if !directory.is_dir() {
            let text = fs::read_to_string(cpuinfo).unwrap_or_default();
            let in_processor = text.split_ascii_whitespace().any(|flag| flag == "intel_pt");
            return Err(Missing::NoPmu { in_processor });
        }
        let kind = number(&directory.join("type"), 10)?;
        let filters = directory.join("nr_addr_filters");
        // Kernels before 4.7 have no filters.
        let filters = if filters.exists() { number(&filters, 10)? } else { 0 };
        Ok(Self {
            kind: narrow(directory, kind)?,
            filters: narrow(directory, filters)?,
            caps: each_file(&directory.join("caps"), |path| number(path, 16))?,
            formats: each_file(&directory.join("format"), bits)?,
            crystal_ratio: ratio(&directory.join("tsc_art_ratio"))?,
            nominal_ratio: nominal(&directory.join("max_nonturbo_ratio"))?,
        })
    }

    /// Returns the number of the event source, which is the type of its events.
    #[must_use]
    pub fn kind(&self) -> u32 {
        self.kind
    }

    /// Returns how many ticks of the time stamp counter there are for how many of the crystal
    /// clock, if the processor reports it.
    #[must_use]
    pub fn crystal_ratio(&self) -> Option<(u64, u64)> {
        self.crystal_ratio
    }

    /// Returns the ratio of the highest frequency without turbo to the bus clock, which is the unit
    /// of CBR packets, if the processor reports it.
    #[must_use]
    pub fn nominal_ratio(&self) -> Option<u8> {
        self.nominal_ratio
    }

    /// Returns the control register of recordings: branches of user space with time stamps and, if
    /// the processor has them, MTC packets, which refine the time.
    #[must_use]
    pub fn recording_ctl(&self) -> u64 {
        let has = |values: &str, value: u64| self.cap(values) >> value & 1 == 1;
        let own = ctl::User::make(1) | ctl::TscEnable::make(1) | ctl::BranchEnable::make(1);
        let mtc = self.cap("mtc") != 0 && has("mtc_periods", MTC_PERIOD);
        let mtc_bits = ctl::MtcEnable::make(1) | ctl::MtcFrequency::make(MTC_PERIOD);
        let psb = self.cap("psb_cyc") != 0 && has("psb_periods", PSB_PERIOD);
        let psb_bits = ctl::PsbFrequency::make(PSB_PERIOD);
        own | if mtc { mtc_bits } else { 0 } | if psb { psb_bits } else { 0 }
    }

    /// Returns the value of a file in `caps`, or 0 if it is missing.
    fn cap(&self, name: &str) -> u64 {
        self.caps.get(name).copied().unwrap_or(0)
    }

    /// Returns `value` at the place of an option in `config`, or `None` if the kernel does not have
    /// the option, or the value is too large for it.
    pub(super) fn place(&self, option: &str, value: u64) -> Option<u64> {
        if value == 0 {
            return Some(0);
        }
        let bits = self.formats.get(option)?;
        let width = bits.end().checked_sub(*bits.start())?.checked_add(1)?;
        let fits = width >= u64::BITS || value >> width == 0;
        fits.then(|| value.checked_shl(*bits.start())).flatten()
    }

    /// Returns the features of a back end for `cpus` CPUs.
    #[must_use]
    pub fn capabilities(&self, cpus: u16) -> Capabilities {
        let has = |name: &str| self.cap(name) != 0;
        let bits = |is_there: bool, bits: u64| if is_there { bits } else { 0 };
        let values = |is_there: bool, name: &str| bits(is_there, self.cap(name)) as u16;
        let (cycles, mtc) = (has("psb_cyc"), has("mtc"));
        let cycle_bits = ctl::CycleEnable::make(1)
            | ctl::CycleThreshold::make(0xf)
            | ctl::PsbFrequency::make(0xf);
        let mtc_bits = ctl::MtcEnable::make(1) | ctl::MtcFrequency::make(0xf);
        let write_bits = ctl::PtWriteEnable::make(1) | ctl::FupOnPtWrite::make(1);
        let filters = bits(has("ip_filtering"), self.filters.into());
        Capabilities {
            cpus,
            threads: true,
            address_ranges: filters.min(MAX_ADDRESS_RANGES.into()) as u8,
            // perf has no interface for it.
            address_space_match: false,
            ctl: ctl::ALWAYS
                | bits(cycles, cycle_bits)
                | bits(mtc, mtc_bits)
                | bits(has("ptwrite"), write_bits)
                | bits(has("power_event_trace"), ctl::PowerEventEnable::make(1)),
            mtc_frequencies: values(mtc, "mtc_periods"),
            cycle_thresholds: values(cycles, "cycle_thresholds"),
            psb_frequencies: values(cycles, "psb_periods"),
        }
    }
}

fn text(path: &Path) -> Result<String, Missing> {
    fs::read_to_string(path).map_err(|error| Missing::Unreadable(path.to_owned(), error))
}

fn number(path: &Path, radix: u32) -> Result<u64, Missing> {
    let text = text(path)?;
    let digits = text.trim().trim_start_matches("0x");
    u64::from_str_radix(digits, radix).map_err(|_| Missing::Malformed(path.to_owned()))
}

/// Parses the decimal number that the kernel's `arch/x86/events/intel/pt.c` prints: bits 8 to 15 of
/// `MSR_PLATFORM_INFO`. Old kernels do not have the file, and processors may not report it: 0.
fn nominal(path: &Path) -> Result<Option<u8>, Missing> {
    if !path.exists() {
        return Ok(None);
    }
    let ratio = number(path, 10)?;
    let ratio = u8::try_from(ratio).map_err(|_| Missing::Malformed(path.to_owned()))?;
    Ok(Some(ratio).filter(|ratio| *ratio != 0))
}

fn narrow(directory: &Path, number: u64) -> Result<u32, Missing> {
    number.try_into().map_err(|_| Missing::Malformed(directory.to_owned()))
}

/// Parses `250:2`. Kernels before 4.8 do not have the file, and processors may not report it:
/// zeros.
fn ratio(path: &Path) -> Result<Option<(u64, u64)>, Missing> {
    if !path.exists() {
        return Ok(None);
    }
    let text = text(path)?;
    let parse = |(counter, crystal): (&str, &str)| {
        Some((counter.parse::<u64>().ok()?, crystal.parse::<u64>().ok()?))
    };
    let ratio = text.trim().split_once(':').and_then(parse);
    let (counter, crystal) = ratio.ok_or_else(|| Missing::Malformed(path.to_owned()))?;
    Ok((counter != 0 && crystal != 0).then_some((counter, crystal)))
}

/// Parses `config:10` or `config:14-17`.
fn bits(path: &Path) -> Result<RangeInclusive<u32>, Missing> {
    let text = text(path)?;
    let malformed = || Missing::Malformed(path.to_owned());
    let bits = text.trim().strip_prefix("config:").ok_or_else(malformed)?;
    let (start, end) = bits.split_once('-').unwrap_or((bits, bits));
    match (start.parse(), end.parse()) {
        (Ok(start), Ok(end)) if start <= end && end < u64::BITS => Ok(start..=end),
        _ => Err(malformed()),
    }
}

fn each_file<T>(
    directory: &Path,
    read: impl Fn(&Path) -> Result<T, Missing>,
) -> Result<BTreeMap<String, T>, Missing> {
    let unreadable = |error| Missing::Unreadable(directory.to_owned(), error);
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        found.insert(name, read(&entry.path())?);
    }
    Ok(found)
}
