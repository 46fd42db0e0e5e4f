use trace_macros::trace_fn;

#[trace_fn]
async fn fetch() {}

fn main() {
    // Still defined: the attribute's error is the only one.
    drop(fetch());
}
