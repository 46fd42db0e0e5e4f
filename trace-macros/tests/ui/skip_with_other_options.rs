use trace_macros::trace_fn;

struct Cache;

#[trace_fn]
impl Cache {
    #[trace_fn(skip, name = "get")]
    fn get(&self) {}
}

fn main() {
    Cache.get();
}
