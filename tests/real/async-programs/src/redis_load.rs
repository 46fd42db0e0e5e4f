//! mini-redis under load, for the worked example of `docs/slow-requests.md`. Each client sends a
//! request as soon as it has the response to the one before. Most requests get a short value, and
//! some set a long one, as pages of a cache are. A request is the span `request` of its client.

use std::net::SocketAddr;
use std::time::Instant;

use mini_redis::client::{self, Client};
use mini_redis::server;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tracing::{info_span, Instrument};

use crate::load::Measured;

/// Requests at a time.
const CLIENTS: u64 = 8;

/// One of so many requests sets a long value.
const LONG_EVERY: u64 = 10;

const SHORT: usize = 64;
const LONG: usize = 64 << 10;

/// The keys of short values.
const KEYS: u64 = 100;

/// Sends this number of requests. Server and clients have threads of their own.
pub fn run(requests: u64) -> Measured {
    let (servers, clients) = (runtime("server", 2), runtime("client", 1));
    let listener = servers.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
    let address = listener.local_addr().expect("the port");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = servers.spawn(server::run(listener, stopped));
    let measured = clients.block_on(of_clients(address, requests));
    drop(stop);
    servers.block_on(server).expect("the server does not panic").expect("the server stops");
    Measured::from([("request", measured)])
}

fn runtime(name: &str, threads: usize) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.thread_name(name).worker_threads(threads).enable_all().build().expect("a runtime")
}

async fn of_clients(address: SocketAddr, requests: u64) -> Vec<u64> {
    let mut first = client::connect(address).await.expect("a connection");
    for key in 0..KEYS {
        first.set(&format!("key {key}"), vec![b'x'; SHORT].into()).await.expect("set");
    }
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        clients.spawn(async move {
            let mut connection = client::connect(address).await.expect("a connection");
            let mut lengths = Vec::new();
            for number in (client..requests).step_by(CLIENTS as usize) {
                let start = Instant::now();
                request(&mut connection, number).await;
                lengths.push(start.elapsed().as_nanos() as u64);
            }
            lengths
        });
    }
    clients.join_all().await.concat()
}

async fn request(connection: &mut Client, number: u64) {
    if number % LONG_EVERY == LONG_EVERY / 2 {
        let span = info_span!(target: "load", "request", command = "set", bytes = LONG);
        let set = connection.set("page", vec![b'x'; LONG].into());
        return set.instrument(span).await.expect("set");
    }
    let span = info_span!(target: "load", "request", command = "get", bytes = SHORT);
    let key = format!("key {}", number % KEYS);
    let value = connection.get(&key).instrument(span).await.expect("get").expect("a value");
    assert_eq!(value.len(), SHORT);
}
