//! The files of the event source `intel_pt` in sysfs.
#![allow(dead_code)] // Not every test uses all of it.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use trace_insntrace::hardware::{Missing, Pmu};

/// The files of a processor of the ninth generation, as the kernel writes them.
const CAPS: [(&str, &str); 13] = [
    ("cr3_filtering", "1"),
    ("cycle_thresholds", "1fff"),
    ("ip_filtering", "1"),
    ("mtc", "1"),
    ("mtc_periods", "249"),
    ("num_address_ranges", "2"),
    ("output_subsys", "0"),
    ("payloads_lip", "0"),
    ("power_event_trace", "0"),
    ("psb_cyc", "1"),
    ("psb_periods", "3f"),
    ("ptwrite", "0"),
    ("topa_multiple_entries", "1"),
];

const FORMATS: [(&str, &str); 12] = [
    ("branch", "13"),
    ("cyc", "1"),
    ("cyc_thresh", "19-22"),
    ("fup_on_ptw", "5"),
    ("mtc", "9"),
    ("mtc_period", "14-17"),
    ("noretcomp", "11"),
    ("psb_period", "24-27"),
    ("pt", "0"),
    ("ptw", "12"),
    ("pwr_evt", "4"),
    ("tsc", "10"),
];

/// A sysfs of the test.
pub(crate) struct Sysfs(TempDir);

impl Sysfs {
    pub(crate) fn new() -> Self {
        let sysfs = Self(tempfile::tempdir().unwrap());
        sysfs.write("type", "8");
        sysfs.write("nr_addr_filters", "2");
        CAPS.iter().for_each(|(name, value)| sysfs.write(&format!("caps/{name}"), value));
        let format = |(name, bits): &(&str, &str)| {
            sysfs.write(&format!("format/{name}"), &format!("config:{bits}"));
        };
        FORMATS.iter().for_each(format);
        sysfs
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, value: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{value}\n")).unwrap();
    }

    pub(crate) fn remove(&self, name: &str) {
        fs::remove_file(self.path().join(name)).unwrap();
    }

    pub(crate) fn read(&self) -> Result<Pmu, Missing> {
        Pmu::read(self.path(), Path::new("/proc/cpuinfo"))
    }
}
