//! Programs that run with the rights of another user, or for one.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;

use trace_runtime::trace_instant;

/// Says whether the program is privileged, traces, and says what the tracer says of it.
pub(crate) fn trace_as() {
    // SAFETY: takes an integer.
    let privileged = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    println!("privileged {privileged}");
    let mut builder = trace_runtime::builder();
    if let Some(uid) = std::env::args().nth(2) {
        builder = builder.manager_uid(uid.parse().expect("a user is a number"));
    }
    let trace = builder.init();
    trace_instant!("others", "event");
    match trace.status() {
        Ok(()) => println!("status ok"),
        Err(reason) => println!("status {reason}"),
    }
}

/// Listens as a manager does, and says how many bytes each program sends that connects.
pub(crate) fn listen(path: &str) {
    let listener = UnixListener::bind(path).expect("it can be bound");
    println!("ready");
    for stream in listener.incoming() {
        let mut stream = stream.expect("a program connects");
        let mut byte = [0];
        println!("received {}", stream.read(&mut byte).expect("a stream can be read"));
        std::io::stdout().flush().expect("standard output can be written");
    }
}
