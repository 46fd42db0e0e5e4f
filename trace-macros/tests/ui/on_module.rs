use trace_macros::trace_fn;

#[trace_fn(category = "c")]
mod inner {
    pub fn call() {}
}

fn main() {
    inner::call();
}
