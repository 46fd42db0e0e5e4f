use trace_macros::trace_fn;

#[trace_fn(skip)]
fn load() {}

fn main() {
    load();
}
