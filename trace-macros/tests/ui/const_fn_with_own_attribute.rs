use trace_macros::trace_fn;

struct Client;

#[trace_fn]
impl Client {
    #[trace_fn(name = "new")]
    const fn new() -> Self {
        Client
    }

    const fn silently_left_out(&self) {}
}

fn main() {
    Client::new().silently_left_out();
}
