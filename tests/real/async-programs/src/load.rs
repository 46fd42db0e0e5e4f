//! Requests with known waits, several at a time.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

/// Requests that wait, and requests that do not.
const WAITING: u64 = 120;
const NOOPS: u64 = 60;

/// Requests at a time.
const CLIENTS: u64 = 20;

/// The pause before each request of a client. Clients do not send at one time, or requests that do
/// not wait would delay each other.
const PAUSE: Duration = Duration::from_millis(7 * CLIENTS);

/// The lengths of requests in nanoseconds, by kind.
pub type Measured = BTreeMap<&'static str, Vec<u64>>;

/// Returns the wait of a request. The waits are so long that the delays of a busy machine are
/// small beside them, and differ, so that percentiles do.
pub fn wait(number: u64) -> Duration {
    Duration::from_millis(300 + 2 * number)
}

/// Calls `request` with the number of the client and the wait of each request, and measures it.
pub async fn run<F, R>(request: F) -> Measured
where
    F: Fn(u64, Option<Duration>) -> R + Clone + Send + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    let noops = of_clients(NOOPS, request.clone(), |_| None).await;
    let waiting = of_clients(WAITING, request, |number| Some(wait(number))).await;
    BTreeMap::from([("noop", noops), ("wait", waiting)])
}

async fn of_clients<F, R>(number: u64, request: F, wait: fn(u64) -> Option<Duration>) -> Vec<u64>
where
    F: Fn(u64, Option<Duration>) -> R + Clone + Send + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let request = request.clone();
        clients.spawn(async move {
            tokio::time::sleep(PAUSE * client as u32 / CLIENTS as u32).await;
            let mut lengths = Vec::new();
            for number in (client..number).step_by(CLIENTS as usize) {
                tokio::time::sleep(PAUSE).await;
                let start = Instant::now();
                request(number, wait(number)).await;
                lengths.push(start.elapsed().as_nanos() as u64);
            }
            lengths
        });
    }
    clients.join_all().await.concat()
}
