use trace_macros::trace_fn;

#[trace_fn(ret)]
fn stop() -> ! {
    std::process::exit(0)
}

#[trace_fn(category = "c", err)]
async fn serve() -> ! {
    loop {}
}

fn main() {
    drop(serve());
    stop();
}
