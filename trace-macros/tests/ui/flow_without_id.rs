use trace_macros::trace_fn;

#[trace_fn(flow)]
fn load() {}

#[trace_fn(flow_begin =)]
fn store() {}

#[trace_fn(flow_end(1))]
fn remove() {}

fn main() {
    load();
    store();
    remove();
}
