use trace_macros::trace_fn;

const CATEGORY: &str = "storage";

#[trace_fn(category = CATEGORY)]
fn load() {}

#[trace_fn(category = 7)]
fn store() {}

#[trace_fn(name = concat!("a", "b"))]
fn remove() {}

fn main() {
    let _ = CATEGORY;
    load();
    store();
    remove();
}
