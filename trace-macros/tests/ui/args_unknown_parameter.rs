use trace_macros::trace_fn;

#[trace_fn(args(index, lenght))]
fn load(index: usize, length: usize) -> usize {
    index + length
}

#[trace_fn(args(index))]
fn store() {}

struct Cache;

impl Cache {
    #[trace_fn(args(self))]
    fn make(size: usize) -> usize {
        size
    }
}

fn main() {
    load(1, 2);
    store();
    Cache::make(3);
    let _ = Cache;
}
