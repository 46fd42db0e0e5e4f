use trace_macros::trace_fn;

#[trace_fn(ret)]
#[track_caller]
fn place() -> u32 {
    std::panic::Location::caller().line()
}

fn main() {
    place();
}
