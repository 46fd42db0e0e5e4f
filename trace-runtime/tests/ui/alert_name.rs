use trace_runtime::{ntrace, trace_alert};

fn main() {
    trace_alert!("fifteen bytes!!");
    ntrace::trace_alert!("fifteen bytes!!");
}
