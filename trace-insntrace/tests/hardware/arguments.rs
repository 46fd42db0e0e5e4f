//! Arguments of events, by what sysfs reports.

use std::fs;
use std::path::Path;

use trace_insntrace::controller::{
    ctl, Allocation, BufferConfig, Call, Controller, Mode, Status, MAX_ADDRESS_RANGES,
};
use trace_insntrace::hardware::{code_of_file, code_of_process, Missing, Pmu, Settings};
use trace_insntrace::recording::Mapping;
use trace_insntrace::symbols;

use crate::sysfs::Sysfs;

const CONFIG: BufferConfig = BufferConfig {
    num_chunks: 3,
    chunk_order: 1,
    is_circular: true,
    ctl: ctl::DEFAULT,
    address_space_match: 0,
    address_ranges: [(0, 0); MAX_ADDRESS_RANGES as usize],
};

fn settings(pmu: &Pmu, config: BufferConfig) -> Result<Settings, Status> {
    Settings::new(pmu, &config, &[])
}

#[test]
fn capabilities_are_those_of_sysfs() {
    let capabilities = Sysfs::new().read().unwrap().capabilities(4);
    assert_eq!((capabilities.cpus, capabilities.threads), (4, true));
    assert_eq!((capabilities.address_ranges, capabilities.address_space_match), (2, false));
    assert_eq!(capabilities.mtc_frequencies, 0x249);
    assert_eq!(capabilities.cycle_thresholds, 0x1fff);
    assert_eq!(capabilities.psb_frequencies, 0x3f);
    let cycles = ctl::CycleEnable::make(1) | ctl::CycleThreshold::make(15);
    let mtc = ctl::MtcEnable::make(1) | ctl::MtcFrequency::make(15);
    let expected = ctl::ALWAYS | cycles | mtc | ctl::PsbFrequency::make(15);
    assert_eq!(capabilities.ctl, expected);
}

#[test]
fn each_capability_can_be_missing() {
    let without = |cap: &str| {
        let sysfs = Sysfs::new();
        sysfs.write(&format!("caps/{cap}"), "0");
        let capabilities = sysfs.read().unwrap().capabilities(1);
        sysfs.remove(&format!("caps/{cap}"));
        assert_eq!(sysfs.read().unwrap().capabilities(1), capabilities, "{cap}");
        capabilities
    };
    let cycles = without("psb_cyc");
    assert_eq!((cycles.cycle_thresholds, cycles.psb_frequencies), (0, 0));
    let cycle_bits = ctl::CycleEnable::make(1) | ctl::PsbFrequency::make(15);
    assert_eq!(cycles.ctl & (cycle_bits | ctl::CycleThreshold::make(15)), 0);
    let mtc = without("mtc");
    assert_eq!(mtc.mtc_frequencies, 0);
    assert_eq!(mtc.ctl & (ctl::MtcEnable::make(1) | ctl::MtcFrequency::make(15)), 0);
    assert_eq!(without("ip_filtering").address_ranges, 0);
    let sysfs = Sysfs::new();
    sysfs.write("caps/ptwrite", "1");
    sysfs.write("caps/power_event_trace", "1");
    let more = sysfs.read().unwrap().capabilities(1).ctl;
    let bits = ctl::PtWriteEnable::make(1) | ctl::FupOnPtWrite::make(1);
    assert_eq!(more & bits, bits);
    assert_ne!(more & ctl::PowerEventEnable::make(1), 0);
    for (filters, expected) in [("0", 0), ("1", 1), ("4", 2)] {
        sysfs.write("nr_addr_filters", filters);
        assert_eq!(sysfs.read().unwrap().capabilities(1).address_ranges, expected);
    }
    sysfs.remove("nr_addr_filters");
    assert_eq!(sysfs.read().unwrap().capabilities(1).address_ranges, 0);
}

#[test]
fn recordings_have_user_space_and_the_times_that_the_processor_has() {
    let sysfs = Sysfs::new();
    let own = ctl::User::make(1) | ctl::TscEnable::make(1) | ctl::BranchEnable::make(1);
    let mtc = ctl::MtcEnable::make(1) | ctl::MtcFrequency::make(3);
    let all = sysfs.read().unwrap();
    assert_eq!(all.recording_ctl(), own | mtc | ctl::PsbFrequency::make(3));
    assert_eq!(all.crystal_ratio(), None);
    sysfs.write("caps/mtc_periods", "241");
    assert_eq!(sysfs.read().unwrap().recording_ctl(), own | ctl::PsbFrequency::make(3));
    sysfs.write("caps/psb_cyc", "0");
    assert_eq!(sysfs.read().unwrap().recording_ctl(), own);
    let ratio = |text: &str| {
        sysfs.write("tsc_art_ratio", text);
        sysfs.read().map(|pmu| pmu.crystal_ratio()).map_err(|_| ())
    };
    assert_eq!(ratio("250:2"), Ok(Some((250, 2))));
    assert_eq!(ratio("0:0"), Ok(None));
    for wrong in ["250", "", "a:2", "-1:2"] {
        assert_eq!(ratio(wrong), Err(()), "{wrong}");
    }
    sysfs.remove("tsc_art_ratio");
    let nominal = |text: &str| {
        sysfs.write("max_nonturbo_ratio", text);
        sysfs.read().map(|pmu| pmu.nominal_ratio()).map_err(|_| ())
    };
    assert_eq!(all.nominal_ratio(), None);
    assert_eq!(nominal("30"), Ok(Some(30)));
    assert_eq!(nominal("0"), Ok(None));
    for wrong in ["256", "", "x"] {
        assert_eq!(nominal(wrong), Err(()), "{wrong}");
    }
}

#[test]
fn filters_refer_to_the_code_of_a_file() {
    let program = std::env::current_exe().unwrap();
    let code = code_of_file(&program).unwrap();
    let running = code_of_process(std::process::id()).unwrap();
    let is_code = |it: &&Mapping| code.iter().any(|own| own.path == it.path);
    let running: Vec<_> = running.iter().filter(is_code).collect();
    assert!(!running.is_empty());
    let name = "main";
    let find = |mappings: &[Mapping]| {
        let pmu = Sysfs::new().read().unwrap();
        let mut found = mappings.iter().flat_map(|it| symbols::find(it, name).addresses);
        let range = found.next().unwrap();
        let config = BufferConfig { address_ranges: [range, (0, 0)], ..CONFIG };
        Settings::new(&pmu, &config, mappings).unwrap().filter
    };
    let running: Vec<_> = running.into_iter().cloned().collect();
    assert_eq!(find(&code), find(&running), "of the file, and of its process");
    assert!(code_of_file(Path::new("/etc/passwd")).is_err());
}

#[test]
fn options_are_at_the_places_that_sysfs_names() {
    let sysfs = Sysfs::new();
    let pmu = sysfs.read().unwrap();
    let default = settings(&pmu, CONFIG).unwrap();
    assert_eq!((default.kind, default.config), (8, 0x2401));
    assert!(!default.exclude_kernel && !default.exclude_user && default.overwrites);
    assert_eq!((default.aux_bytes, &*default.filter), (32 << 10, ""));
    let all = ctl::MtcEnable::make(1)
        | ctl::MtcFrequency::make(3)
        | ctl::CycleEnable::make(1)
        | ctl::CycleThreshold::make(2)
        | ctl::PsbFrequency::make(5)
        | ctl::DisableReturnCompression::make(1)
        | ctl::User::make(1);
    let found = settings(&pmu, BufferConfig { ctl: all, is_circular: false, ..CONFIG }).unwrap();
    let expected = 1 | 1 << 1 | 1 << 9 | 1 << 11 | 3 << 14 | 2 << 19 | 5 << 24;
    assert_eq!(found.config, expected);
    assert!(found.exclude_kernel && !found.exclude_user && !found.overwrites);
    sysfs.write("format/tsc", "config:40");
    sysfs.write("format/mtc_period", "config:14-15");
    let moved = sysfs.read().unwrap();
    assert_eq!(settings(&moved, CONFIG).unwrap().config, 1 << 40 | 0x2001);
    let frequency = |value| BufferConfig { ctl: ctl::MtcFrequency::make(value), ..CONFIG };
    assert_eq!(settings(&moved, frequency(3)).unwrap().config, 1 | 3 << 14);
    assert_eq!(settings(&moved, frequency(4)), Err(Status::NotSupported));
    sysfs.remove("format/tsc");
    let without = sysfs.read().unwrap();
    assert_eq!(settings(&without, CONFIG), Err(Status::NotSupported));
}

#[test]
fn address_ranges_are_filters_of_files_or_of_the_kernel() {
    let pmu = Sysfs::new().read().unwrap();
    let mapping = |address, path: &str| Mapping {
        address,
        size: 0x2000,
        offset: 0x1000,
        path: path.into(),
        build_id: None,
    };
    let mappings = [
        mapping(0x40_0000, "/bin/old"),
        mapping(0x40_0000, "/bin/app"),
        mapping(0x50_0000, ""),
        mapping(0x60_0000, "/bin/two words"),
    ];
    let filter = |ranges| {
        let config = BufferConfig { address_ranges: ranges, ..CONFIG };
        Settings::new(&pmu, &config, &mappings).map(|settings| settings.filter)
    };
    let none = (0, 0);
    let one = filter([(0x40_0010, 0x40_001f), none]);
    assert_eq!(one.as_deref(), Ok("filter 0x1010/0x10@/bin/app"));
    let kernel = 0xffff_ffff_8100_0000;
    let two = filter([(0x40_1fff, 0x40_1fff), (kernel, kernel + 0xff)]);
    let expected = "filter 0x2fff/0x1@/bin/app,filter 0xffffffff81000000/0x100";
    assert_eq!(two.as_deref(), Ok(expected));
    for start in [0x40_1fff, 0x50_0000, 0x60_0000, 0x70_0000] {
        assert_eq!(filter([none, (start, start + 1)]), Err(Status::NotSupported), "{start:x}");
    }
    assert_eq!(filter([(0, u64::MAX), none]), Err(Status::NotSupported));
}

#[test]
fn areas_are_powers_of_two_of_at_least_a_page() {
    let pmu = Sysfs::new().read().unwrap();
    for (num_chunks, chunk_order, expected) in [(1, 0, 4096), (3, 0, 16384), (256, 8, 256 << 20)] {
        let config = BufferConfig { num_chunks, chunk_order, ..CONFIG };
        assert_eq!(settings(&pmu, config).unwrap().aux_bytes, expected);
    }
}

#[test]
fn reasons_are_reported() {
    let sysfs = Sysfs::new();
    let cpuinfo = sysfs.path().join("cpuinfo");
    let absent = sysfs.path().join("absent");
    for (flags, reason) in [
        ("flags\t\t: fpu intel_pt avx", "the processor has Intel PT, but the kernel has no"),
        ("flags\t\t: fpu intel_ptx", "no Intel PT: the processor does not have it, or a hyper"),
    ] {
        fs::write(&cpuinfo, flags).unwrap();
        let error = Pmu::read(&absent, &cpuinfo).unwrap_err().to_string();
        assert!(error.starts_with(reason), "{error}");
    }
    let fails = |name: &str, value: &str| {
        let sysfs = Sysfs::new();
        sysfs.write(name, value);
        let error = sysfs.read().unwrap_err();
        assert!(matches!(error, Missing::Malformed(_)), "{name}: {error}");
    };
    for wrong in ["", "x", "-1", "99999999999999999999"] {
        for name in ["type", "nr_addr_filters", "caps/mtc"] {
            fails(name, wrong);
        }
    }
    fails("type", "4294967296");
    for wrong in ["", "config1:3", "config:", "config:5-4", "config:64", "config:1-64", "config:x"]
    {
        fails("format/cyc", wrong);
    }
    sysfs.remove("type");
    let unreadable = sysfs.read().unwrap_err();
    assert!(matches!(unreadable, Missing::Unreadable(..)), "{unreadable}");
}

/// The controller refuses what the processor does not have, before a back end sees it.
#[test]
fn the_controller_checks_ranges_of_values() {
    let capabilities = Sysfs::new().read().unwrap().capabilities(2);
    let try_one = |config: BufferConfig| {
        let mut controller = Controller::new(super::rings::NoTracing(capabilities));
        let allocation = Allocation { mode: Mode::Thread, num_traces: 1 };
        controller.call(Call::Initialize(allocation)).unwrap();
        controller.call(Call::AllocateBuffer(config)).map(drop)
    };
    let with = |bits| BufferConfig { ctl: ctl::DEFAULT | bits, ..CONFIG };
    for value in 0..16 {
        let is_allowed = |values: u64| match value == 0 || values >> value & 1 == 1 {
            true => Ok(()),
            false => Err(Status::InvalidArgs),
        };
        assert_eq!(try_one(with(ctl::MtcFrequency::make(value))), is_allowed(0x249), "{value}");
        assert_eq!(try_one(with(ctl::CycleThreshold::make(value))), is_allowed(0x1fff), "{value}");
        assert_eq!(try_one(with(ctl::PsbFrequency::make(value))), is_allowed(0x3f), "{value}");
    }
    assert_eq!(try_one(with(ctl::PtWriteEnable::make(1))), Err(Status::InvalidArgs));
    assert_eq!(try_one(with(ctl::Cr3Filter::make(1))), Err(Status::InvalidArgs));
    let space = BufferConfig { address_space_match: 0x1000, ..CONFIG };
    assert_eq!(try_one(space), Err(Status::NotSupported));
}
