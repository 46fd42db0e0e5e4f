use trace_macros::trace_fn;

struct Client;

#[trace_fn]
impl Client {
    const fn new() -> Self {
        Client
    }

    async fn fetch(&self) {}
}

fn main() {
    drop(Client::new().fetch());
}
