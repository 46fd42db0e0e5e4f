//! An axum server whose handlers are traced futures, below the spans of tower-http.

use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::Query;
use axum::routing::get;
use axum::Router;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tower_http::trace::TraceLayer;
use trace_runtime::{trace_future_args, TraceFutureExt};

use crate::load::{self, Measured};

#[derive(serde::Deserialize)]
struct Wait {
    number: u64,
    millis: u64,
}

async fn wait(Query(Wait { number, millis }): Query<Wait>) -> &'static str {
    async {
        query(millis).trace(trace_future_args!("db", "query", "number" => number)).await;
        "done"
    }
    .trace(trace_future_args!("server", "wait", "number" => number))
    .await
}

async fn query(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

async fn noop() -> &'static str {
    async { "done" }.trace(trace_future_args!("server", "noop")).await
}

pub async fn run(speed: u32) -> Measured {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("the port");
    let routes = Router::new().route("/wait", get(wait)).route("/noop", get(noop));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = axum::serve(listener, routes.layer(TraceLayer::new_for_http()));
    let server = server.with_graceful_shutdown(async { drop(stopped.await) });
    let server = tokio::spawn(async move { server.await });
    let measured = load::run(speed, move |number, wait| request(address, number, wait)).await;
    drop(stop);
    server.await.expect("the server does not panic").expect("the server stops");
    measured
}

/// Sends a request on a connection of its own, and reads the response to its end.
async fn request(address: SocketAddr, number: u64, wait: Option<Duration>) {
    let path = match wait {
        Some(wait) => format!("/wait?number={number}&millis={}", wait.as_millis()),
        None => "/noop".to_owned(),
    };
    let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let mut connection = TcpStream::connect(address).await.expect("a connection");
    connection.write_all(head.as_bytes()).await.expect("the request is sent");
    let mut response = String::new();
    connection.read_to_string(&mut response).await.expect("the response is read");
    assert!(response.starts_with("HTTP/1.1 200") && response.ends_with("done"), "{response}");
}
