use trace_macros::trace_fn;

#[trace_fn(crate = "my_runtime")]
fn load() {}

fn main() {
    load();
}
