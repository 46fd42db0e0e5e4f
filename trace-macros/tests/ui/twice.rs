use trace_macros::trace_fn;

#[trace_fn]
#[trace_fn(name = "again")]
fn load() {}

struct Cache;

#[trace_fn]
impl Cache {
    #[trace_fn]
    #[trace_fn]
    fn get(&self) {}
}

fn main() {
    load();
    Cache.get();
}
