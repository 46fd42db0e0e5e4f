//! A process that asks another one, each request with a flow.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use trace_runtime::{trace_duration, trace_flow_begin, trace_flow_end};

const REQUESTS: u64 = 20;

/// Starts the other process, and asks it when it waits.
pub(crate) fn ask() {
    let _trace = crate::init();
    let mut answering = Command::new(std::env::current_exe().expect("this program"));
    let child = answering.arg("answer").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.expect("the process starts");
    let mut requests = child.stdin.take().expect("it is a pipe");
    let mut answers = child.stdout.take().expect("it is a pipe");
    for number in 1..=REQUESTS {
        std::thread::sleep(Duration::from_millis(5));
        trace_duration!("asking", "ask", "number" => number);
        trace_flow_begin!("asking", "request", number);
        requests.write_all(&number.to_ne_bytes()).expect("the pipe is open");
        answers.read_exact(&mut [0]).expect("the pipe is open");
    }
    drop(requests);
    assert!(child.wait().expect("it ends").success());
}

/// Answers each request with a byte.
pub(crate) fn answer() {
    let _trace = crate::init();
    let (mut requests, mut answers) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut number = [0; 8];
    while requests.read_exact(&mut number).is_ok() {
        trace_duration!("asking", "answer");
        trace_flow_end!("asking", "request", u64::from_ne_bytes(number));
        answers.write_all(&[1]).and_then(|()| answers.flush()).expect("the pipe is open");
    }
}
