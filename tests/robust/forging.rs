//! A program that forges records of the manager or of other processes.

use crate::harness::{record, trace, Archive, Run};

/// `merge` aligns archives by clock anchors. Forged ones made it treat all other processes as those
/// of another boot.
#[test]
fn forged_clock_anchors_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let (forged, honest, merged) = (path("forged.fxt"), path("honest.fxt"), path("merged.fxt"));
    let run = Run::of(&mut record(&["--json", "--strict"], &forged, &["forge"]));
    assert_eq!(run.code(), 3, "refused records are missing: {run:?}");
    let summary: serde_json::Value = serde_json::from_str(&run.stdout()).unwrap();
    let rejected = &summary["providers"][0]["rejected"];
    assert_eq!(rejected["record that only the manager writes"], 2, "{rejected}");
    assert_eq!(rejected["about other processes"], 1, "{rejected}");
    assert_eq!(Run::of(&mut record(&[], &honest, &["end", "return"])).code(), 0);
    let before = [&forged, &honest].map(|path| Archive::read(path).only().pid);
    let run = Run::of(trace(&["merge"]).args([&honest, &forged]).arg("-o").arg(&merged));
    assert_eq!(run.code(), 0, "{run:?}");
    let mut after: Vec<u64> =
        Archive::read(&merged).providers.iter().map(|provider| provider.pid).collect();
    after.sort();
    let mut before = before.to_vec();
    before.sort();
    assert_eq!(after, before);
    let check = Run::of(trace(&["check"]).arg(&forged));
    assert_eq!(check.code(), 3);
    assert!(check.stdout().contains("records refused: 3"), "{check:?}");
}
