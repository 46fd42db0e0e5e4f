use trace_macros::trace_fn;

struct Opaque;

#[trace_fn(args(opaque))]
fn load(opaque: &Opaque) {
    let _ = opaque;
}

#[trace_fn(args(part = (1, value)))]
fn store<T: Copy>(value: T) {
    let _ = value;
}

fn main() {
    load(&Opaque);
    store(1);
}
