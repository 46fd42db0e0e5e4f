//! Statistics of `llvm-xray account` and of ours.

use std::collections::BTreeMap;
use std::path::Path;

use trace_analyze::input::InputFormat;
use trace_analyze::stats::{self, Grouping};
use trace_format::Reader;
use trace_xray::fxt::Fdr;
use trace_xray::map::Map;

use crate::theirs::{recorded, subject, THRESHOLDS};
use crate::tools::{xray, Work};

/// The count of calls and the sum of their times in seconds, by name. LLVM prints 7 digits.
type Calls = BTreeMap<String, (u64, String)>;

/// Returns the log in the order of time of all threads: `account` skips records that are earlier
/// than the one before. LLVM sorts what it converts to YAML, but reads only version 1 of it.
pub(crate) fn sorted(work: &Work, log: &Path) -> std::path::PathBuf {
    let yaml = xray(&["convert".as_ref(), "-f".as_ref(), "yaml".as_ref(), log.as_os_str()]);
    let yaml = yaml.unwrap().replacen("version:         5", "version: 1", 1);
    work.file("sorted.yaml", yaml.as_bytes())
}

fn theirs(program: &Path, log: &Path) -> Calls {
    let work = Work::new();
    let sorted = sorted(&work, log);
    let files = ["-m", program.to_str().unwrap(), sorted.to_str().unwrap()];
    let rows = xray(&[&["account", "-d", "-format=csv"][..], &files].concat()).unwrap();
    rows.lines().skip(1).map(row).collect()
}

fn row(row: &str) -> (String, (u64, String)) {
    let cells: Vec<_> = row.splitn(10, ',').collect();
    let seconds: f64 = cells[7].parse().unwrap();
    let name = cells[9].trim_matches('"').to_owned();
    (name, (cells[1].parse().unwrap(), format!("{seconds:.5e}")))
}

fn ours(program: &Path, log: &Path) -> Calls {
    let map = Map::parse(&std::fs::read(program).unwrap()).unwrap();
    let archive = Fdr { map }.open(Box::new(std::fs::File::open(log).unwrap())).unwrap();
    let report = stats::collect(Reader::new(archive), Grouping::Together, None).unwrap();
    let row = |row: &stats::Row| {
        let seconds = format!("{:.6e}", row.lengths.sum() as f64 / 1e9).parse::<f64>().unwrap();
        (row.name.clone(), (row.lengths.count(), format!("{seconds:.5e}")))
    };
    report.durations.iter().map(row).collect()
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn names_counts_and_times_are_the_same() {
    let work = Work::new();
    let program = subject(&work);
    for threshold in THRESHOLDS {
        let (_work, log) = recorded(&program, threshold);
        let theirs = theirs(&program, &log);
        assert!(theirs.contains_key("work"), "{theirs:?}");
        assert_eq!(ours(&program, &log), theirs, "threshold {threshold}");
    }
}
