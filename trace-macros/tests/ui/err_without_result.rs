use trace_macros::trace_fn;

#[trace_fn(err)]
fn find(number: u32) -> Option<u32> {
    number.checked_sub(1)
}

#[trace_fn(err)]
async fn nothing() {}

fn main() {
    find(1);
    drop(nothing());
}
