//! With `NTRACE` the object file has no trace points.

use object::{Object, ObjectSymbol};

use crate::harness::Run;
use crate::workshop::Workshop;

fn no_trace_points_are_left(source: &str, flags: &[&'static str], said: &str) {
    let workshop = Workshop::new(flags);
    let program = workshop.program_alone("program", &[source]);
    let run = Run::of(&mut workshop.traced(&program, &[]));
    assert_eq!((run.code(), run.stdout().as_str()), (0, said));
    assert!(!workshop.path("trace.fxt").exists());
    let bytes = std::fs::read(program).unwrap();
    let file = object::File::parse(bytes.as_slice()).unwrap();
    assert!(file.symbols().count() > 0);
    let left: Vec<_> = file
        .symbols()
        .filter_map(|symbol| symbol.name().ok())
        .filter(|name| name.contains("trace_"))
        .collect();
    let ours: Vec<_> = left.iter().filter(|name| !name.contains("backtrace_")).collect();
    assert!(ours.is_empty(), "{source} {flags:?}: {ours:?}");
    assert!(
        !bytes.windows(14).any(|window| window == b"of the process"),
        "names are not left either"
    );
}

#[test]
fn in_c() {
    // A nonce is 0 only if tracing is compiled out.
    no_trace_points_are_left("points.c", &["-DNTRACE", "-O2"], "0 0 0 0 0\n0 0 0 0 0\n0 0 0 0 0\n");
    no_trace_points_are_left("long.c", &["-DNTRACE", "-O2"], "");
    no_trace_points_are_left("records.c", &["-DNTRACE", "-O2"], "0\n");
}

#[test]
fn in_cxx() {
    no_trace_points_are_left("points.cc", &["-DNTRACE", "-O2"], "0 0 0 0 0\n");
    no_trace_points_are_left("strict.cc", &["-DNTRACE", "-O2", "-Wold-style-cast"], "");
}

/// Code that remains without optimisation is not called, and requires no library.
#[test]
fn without_optimisation() {
    for source in ["points.c", "points.cc", "records.c", "records.cc"] {
        let workshop = Workshop::new(&["-DNTRACE", "-O0"]);
        let program = workshop.program_alone("program", &[source]);
        assert_eq!(Run::of(&mut workshop.traced(&program, &[])).code(), 0);
    }
}
