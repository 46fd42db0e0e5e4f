use trace_macros::trace_fn;

#[trace_fn("storage")]
fn load() {}

#[trace_fn(=)]
fn store() {}

fn main() {
    load();
    store();
}
