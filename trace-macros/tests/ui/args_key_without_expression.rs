use trace_macros::trace_fn;

#[trace_fn(args(length =))]
fn load(text: &str) -> usize {
    text.len()
}

fn main() {
    load("");
}
