use trace_macros::trace_fn;

#[trace_fn(category = "storage" name = "load")]
fn load() {}

fn main() {
    load();
}
