//! The reason why a process is not traced, and messages for its user.

use crate::harness::Run;
use crate::workshop::Workshop;

fn status(source: &str, flags: &[&'static str]) {
    let workshop = Workshop::new(flags);
    let program = workshop.program("program", &[source]);
    let not_begun = "1 this process has not called trace_init()\n";
    let run = Run::of(&mut workshop.traced(&program, &[]));
    assert_eq!((run.code(), run.stdout()), (0, format!("{not_begun}0 \n0 \n{not_begun}")));

    let output = workshop.path("missing/trace.fxt");
    let mut command = workshop.traced(&program, &[]);
    let run = Run::of(command.env("TRACE_OUTPUT", &output));
    let said = run.stdout();
    let lines: Vec<&str> = said.lines().collect();
    let reason = format!("cannot write the archive {}: ", output.display());
    assert_eq!(lines.len(), 5, "{said}");
    assert!(lines[1].starts_with(&format!("message: this process is not traced: {reason}")));
    assert!(lines[2].starts_with(&format!("6 {reason}")), "{said}");
    assert_eq!(lines[3], lines[2]);
}

#[test]
fn in_c() {
    status("status.c", &[]);
}

#[test]
fn in_cxx() {
    status("status.cc", &["-O2"]);
}

#[test]
fn without_tracing() {
    let workshop = Workshop::new(&["-DNTRACE"]);
    let program = workshop.program_alone("program", &["status.c"]);
    let run = Run::of(&mut workshop.traced(&program, &[]));
    assert_eq!((run.code(), run.stdout().as_str()), (0, "0 \n0 \n0 \n0 \n"));
}
