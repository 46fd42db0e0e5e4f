use trace_macros::trace_fn;

#[trace_fn(category)]
fn load() {}

#[trace_fn(name("load"))]
fn store() {}

#[trace_fn(args = (a))]
fn remove(a: u32) -> u32 {
    a
}

#[trace_fn(crate)]
fn clear() {}

fn main() {
    load();
    store();
    remove(1);
    clear();
}
