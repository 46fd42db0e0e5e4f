use trace_macros::trace_fn;

#[trace_fn(args())]
fn load() {}

fn main() {
    load();
}
