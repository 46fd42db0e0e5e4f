use trace_macros::trace_fn;

#[trace_fn(flow = id, flow_end = id)]
fn load(id: u64) {
    let _ = id;
}

fn main() {
    load(1);
}
