use trace_macros::trace_fn;

#[trace_fn(categroy = "storage")]
fn load() {}

fn main() {
    load();
}
