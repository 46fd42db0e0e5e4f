use trace_macros::trace_fn;

struct Opaque;

#[trace_fn(ret)]
fn make() -> Opaque {
    Opaque
}

#[trace_fn(ret, err)]
fn try_make() -> Result<u32, Opaque> {
    Err(Opaque)
}

fn main() {
    make();
    let _ = try_make();
}
