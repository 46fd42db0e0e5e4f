//! With `NTRACE` nothing is left.

use object::{Object, ObjectSymbol};

use crate::harness::Run;
use crate::workshop::Workshop;

fn nothing_is_left(source: &str, flags: &[&'static str], said: &str) {
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
    assert!(!bytes.windows(14).any(|window| window == b"of the process"), "nor are names");
}

#[test]
fn in_c() {
    // A nonce is never 0 but without tracing.
    nothing_is_left("points.c", &["-DNTRACE", "-O2"], "0 0 0 0 0\n0 0 0 0 0\n0 0 0 0 0\n");
    nothing_is_left("long.c", &["-DNTRACE", "-O2"], "");
    nothing_is_left("records.c", &["-DNTRACE", "-O2"], "0\n");
}

#[test]
fn in_cxx() {
    nothing_is_left("points.cc", &["-DNTRACE", "-O2"], "0 0 0 0 0\n");
    nothing_is_left("strict.cc", &["-DNTRACE", "-O2", "-Wold-style-cast"], "");
}

/// What is left without optimisation is not called, and needs no library.
#[test]
fn without_optimisation() {
    for source in ["points.c", "points.cc", "records.c", "records.cc"] {
        let workshop = Workshop::new(&["-DNTRACE", "-O0"]);
        let program = workshop.program_alone("program", &[source]);
        assert_eq!(Run::of(&mut workshop.traced(&program, &[])).code(), 0);
    }
}
