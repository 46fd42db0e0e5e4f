//! Requests with known waits, several at a time.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

/// Requests that wait, and requests that do not.
const WAITING: u64 = 120;
const NOOPS: u64 = 60;

/// Requests at a time.
const CLIENTS: u32 = 20;

/// The pause before each request of a client. Clients do not send at one time, or requests that do
/// not wait would delay each other.
const PAUSE: Duration = Duration::from_millis(7 * CLIENTS as u64);

/// The lengths of requests in nanoseconds, by kind.
pub type Measured = BTreeMap<&'static str, Vec<u64>>;

/// Returns the wait of a request. The waits are so long that the delays of a busy machine are
/// small beside them, and differ, so that percentiles do.
fn wait(number: u64) -> Duration {
    Duration::from_millis(300 + 2 * number)
}

/// Calls `request` with the number and the wait of each request, and measures it. Waits and pauses
/// are divided by `speed`.
pub async fn run<F, R>(speed: u32, request: F) -> Measured
where
    F: Fn(u64, Option<Duration>) -> R + Clone + Send + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    let pause = PAUSE / speed;
    let noops = of_clients(NOOPS, pause, request.clone(), |_| None).await;
    let waiting = of_clients(WAITING, pause, request, move |number| Some(wait(number) / speed));
    BTreeMap::from([("noop", noops), ("wait", waiting.await)])
}

async fn of_clients<F, R>(
    number: u64,
    pause: Duration,
    request: F,
    wait: impl Fn(u64) -> Option<Duration> + Copy + Send + 'static,
) -> Vec<u64>
where
    F: Fn(u64, Option<Duration>) -> R + Clone + Send + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let request = request.clone();
        clients.spawn(async move {
            tokio::time::sleep(pause * client / CLIENTS).await;
            let mut lengths = Vec::new();
            for number in (client.into()..number).step_by(CLIENTS as usize) {
                tokio::time::sleep(pause).await;
                let start = Instant::now();
                request(number, wait(number)).await;
                lengths.push(start.elapsed().as_nanos() as u64);
            }
            lengths
        });
    }
    clients.join_all().await.concat()
}
