#![deny(let_underscore_drop)]

fn main() {
    let _ = trace_runtime::init();
}
