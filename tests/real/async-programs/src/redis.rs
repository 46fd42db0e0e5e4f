//! mini-redis, which is instrumented with `tracing`, by the bridge. A request is a connection: the
//! server's span `run` lasts as long.

use std::net::SocketAddr;
use std::time::Duration;

use mini_redis::{client, server};
use tokio::net::TcpListener;
use tracing::{info_span, Instrument};

use crate::load::{self, Measured};

pub async fn run(speed: u32) -> Measured {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("the port");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = tokio::spawn(server::run(listener, stopped));
    let measured = load::run(speed, move |number, wait| {
        request(address, number, wait).instrument(info_span!("request", number))
    })
    .await;
    drop(stop);
    server.await.expect("the server does not panic").expect("the server stops");
    measured
}

async fn request(address: SocketAddr, number: u64, wait: Option<Duration>) {
    let mut client = client::connect(address).await.expect("a connection");
    let key = format!("key {number}");
    client.set(&key, "value".into()).await.expect("set");
    if let Some(wait) = wait {
        tokio::time::sleep(wait).await;
    }
    let value = client.get(&key).await.expect("get").expect("a value");
    assert_eq!(&value[..], b"value");
}
