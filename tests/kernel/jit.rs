//! Samples of code without a file, as that of a just-in-time compiler, with the names of its map.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::harness::{trace, Run};
use super::samples::{folded, has, perf_stacks, share, shares, Sampled, CPU_MILLIS};

/// A user that is not the one of the tests, if that is root.
const OTHER_USER: u32 = 65_534;

/// Returns the only map of code without a file in the directory.
fn map_of(directory: &Path) -> PathBuf {
    let files = std::fs::read_dir(directory).unwrap();
    let maps = files.map(|file| file.unwrap().path());
    let maps = Vec::from_iter(maps.filter(|path| path.extension().is_some_and(|it| it == "map")));
    assert_eq!(maps.len(), 1, "{maps:?}");
    maps.into_iter().next().unwrap()
}

/// Without its map, the code has no name, and a hint has the map's.
#[test]
fn code_without_a_file_has_a_hint_to_its_map() {
    let Some(sampled) = Sampled::compile(&["-fno-omit-frame-pointer"]) else { return };
    let directory = sampled.directory();
    let arguments = ["200", directory.to_str().unwrap()];
    if sampled.record_with("fp", &arguments).is_none() {
        return;
    }
    let recording = sampled.path("t.fxt");
    assert_eq!(share(&folded(&recording, &[]), has("jitted")), 0.0);
    let mut symbolize = trace(&["symbolize", "-o"]);
    let run = Run::of(symbolize.arg(sampled.path("other.fxt")).arg(&recording));
    let map = map_of(directory);
    let name = map.file_name().unwrap().to_str().unwrap();
    assert!(run.stderr().contains(&format!("--jit-maps /tmp reads /tmp/{name}")), "{run:?}");
}

/// A map that another user could have written has no names.
#[test]
fn maps_of_code_of_other_users_are_refused() {
    let Some(sampled) = Sampled::compile(&["-fno-omit-frame-pointer"]) else { return };
    let directory = sampled.directory();
    let arguments = ["200", directory.to_str().unwrap()];
    if sampled.record_with("fp", &arguments).is_none() {
        return;
    }
    let (map, recording) = (map_of(directory), sampled.path("t.fxt"));
    if std::os::unix::fs::chown(&map, Some(OTHER_USER), None).is_err() {
        return super::lacks("root");
    }
    let mut symbolize = trace(&["symbolize", "--jit-maps"]);
    symbolize.arg(directory).arg("-o").arg(sampled.path("named.fxt")).arg(&recording);
    let run = Run::of(&mut symbolize);
    let reason = format!("{} belongs to another user", map.display());
    assert!(run.code() == 0 && run.stderr().contains(&reason), "{run:?}");
    assert_eq!(share(&folded(&sampled.path("named.fxt"), &[]), has("jitted")), 0.0);
}

/// `perf` finds the same shares in a run of its own, and its recording has them, too.
#[test]
fn perf_finds_the_same_shares() {
    let Some(sampled) = Sampled::compile(&["-fno-omit-frame-pointer"]) else { return };
    let (data, pid) = (sampled.path("perf.data"), sampled.path("pid"));
    let mut perf = Command::new("perf");
    perf.args(["record", "-q", "-e", "cpu-clock", "-F", "1000", "-g", "-o"]).arg(&data);
    // `perf` reads maps of code from /tmp only.
    perf.args(["--", "sh", "-c", r#"echo $$ >"$0"; exec "$@""#]).arg(&pid);
    perf.arg(sampled.program()).args([CPU_MILLIS, "/tmp"]).stderr(Stdio::null());
    let Some(output) = perf.output().ok().filter(|output| output.status.success()) else {
        return super::lacks("perf");
    };
    let pid = std::fs::read_to_string(pid).unwrap();
    let map = PathBuf::from(format!("/tmp/perf-{}.map", pid.trim()));
    let theirs = shares(&String::from_utf8(output.stdout).unwrap());
    let found = perf_stacks(&data);
    let read = sampled.folded_with_jit_maps(&data, Path::new("/tmp"));
    std::fs::remove_file(map).unwrap();
    let arguments = [CPU_MILLIS, sampled.directory().to_str().unwrap()];
    let Some(ours) = sampled.record_with("fp", &arguments) else { return };
    let stacks = sampled.folded_with_jit_maps(&sampled.path("t.fxt"), sampled.directory());
    sampled.assert_shares(&ours, &stacks);
    sampled.assert_shares(&theirs, &found);
    sampled.assert_shares(&theirs, &read);
    let jitted = |stacks| share(stacks, has("jitted"));
    assert!((jitted(&found) - jitted(&read)).abs() < 0.001, "the same recording");
    let tolerance = sampled.tolerance(&stacks);
    assert!((jitted(&stacks) - ours["in_jit"]).abs() < tolerance);
    for function in ours.keys() {
        let (our, their) = (share(&stacks, has(function)), share(&found, has(function)));
        // Both are within the tolerance of their run.
        let runs = (ours[function] - theirs[function]).abs();
        assert!((our - their).abs() < 2.0 * tolerance + runs, "{function}: {our}, {their}");
    }
}
