//! Programs that run with the rights of another user, or on behalf of one.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;

use trace_runtime::trace_instant;

/// Prints whether the program is privileged, traces, and prints the tracer's status.
pub(crate) fn trace_as() {
    // SAFETY: takes an integer.
    let privileged = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    println!("privileged {privileged}");
    let mut builder = trace_runtime::builder();
    if let Some(uid) = std::env::args().nth(2) {
        builder = builder.manager_uid(uid.parse().expect("a user is a number"));
    }
    let trace = builder.init();
    trace_instant!("other_users", "event");
    match trace.status() {
        Ok(()) => println!("status ok"),
        Err(reason) => println!("status {reason}"),
    }
}

/// Listens like a manager, and prints how many bytes each connecting program sends.
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
