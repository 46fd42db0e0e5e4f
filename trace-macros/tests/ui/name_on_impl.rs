use trace_macros::trace_fn;

struct Cache;

#[trace_fn(name = "cache")]
impl Cache {
    #[trace_fn(skip)]
    fn get(&self) {}
}

#[trace_fn(args(a))]
impl Cache {
    fn put(&self, a: u32) -> u32 {
        a
    }
}

#[trace_fn(skip)]
impl Cache {
    fn clear(&self) {}
}

fn main() {
    Cache.get();
    Cache.put(1);
    Cache.clear();
}
