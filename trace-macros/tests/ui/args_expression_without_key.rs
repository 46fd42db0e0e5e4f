use trace_macros::trace_fn;

#[trace_fn(args(text.len()))]
fn load(text: &str) -> usize {
    text.len()
}

#[trace_fn(args(&text))]
fn store(text: &str) -> usize {
    text.len()
}

#[trace_fn(args("text" => text))]
fn remove(text: &str) -> usize {
    text.len()
}

#[trace_fn(args("text"))]
fn clear(text: &str) -> usize {
    text.len()
}

#[trace_fn(args(a == b))]
fn compare(a: u32, b: u32) -> bool {
    a == b
}

fn main() {
    load("");
    store("");
    remove("");
    clear("");
    compare(1, 2);
}
