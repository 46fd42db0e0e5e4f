//! Connections that consume the manager's resources, beside a recorded program.

use std::path::Path;

use trace_protocol::message::{Register, ToManager};
use trace_protocol::socket::Socket;

/// Connections that request buffers and never answer.
const GREEDY: usize = 40;

/// Connections that never register.
const IDLE: usize = 1000;

/// Connections that are kept open.
pub(crate) struct Crowd(#[allow(dead_code, reason = "held")] Vec<Socket>);

impl Crowd {
    /// Connects to a manager, which closes connections beyond its limits.
    pub(crate) fn at(socket: &Path) -> Self {
        let connect = || Socket::connect(socket).expect("the manager listens");
        let register =
            Register { name: "greedy".to_owned(), durable_hint: 1 << 40, ..Register::default() };
        let register = ToManager::Register(register).encode();
        let greedy = (0..GREEDY).map(|_| {
            let socket = connect();
            let _closed = socket.send(&register, &[]);
            socket
        });
        let sockets = greedy.collect::<Vec<_>>();
        Self(sockets.into_iter().chain((0..IDLE).map(|_| connect())).collect())
    }
}
