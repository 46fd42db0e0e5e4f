use trace_macros::trace_fn;

#[trace_fn(flow = id)]
fn load(id: &str) {
    let _ = id;
}

fn main() {
    load("1");
}
