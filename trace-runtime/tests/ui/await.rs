use trace_runtime::trace_duration;

fn spawn<F: std::future::Future + Send>(_: F) {}

async fn work() {
    trace_duration!("app", "work");
    std::future::ready(()).await;
}

fn main() {
    spawn(work());
}
