use trace_macros::trace_fn;

#[trace_fn(category = "")]
fn load() {}

fn main() {
    load();
}
