//! Messages of the two sockets, in both directions, and packets.

use std::fmt::Debug;

use trace_protocol::control::{ToController, ToDaemon};
use trace_protocol::message::{Decoder, Message, ToManager, ToProvider, HEAD_SIZE, MAX_BODY};
use trace_protocol::packet::{Packet, PACKET_SIZE};

/// Messages of the control socket. The first byte divides the rest, so that messages arrive in two
/// parts. Each message that is decoded is the same after it is encoded again.
pub fn control(bytes: &[u8]) {
    let parts = divided(bytes);
    decode(&parts, ToDaemon::encode);
    decode(&parts, ToController::encode);
}

/// Messages of the registration socket, as those of [`control`].
pub fn registration(bytes: &[u8]) {
    let parts = divided(bytes);
    decode(&parts, ToManager::encode);
    decode(&parts, ToProvider::encode);
}

/// Packets. Each one that is decoded has the bytes that encode it. The last one may be too short.
pub fn packet(bytes: &[u8]) {
    for packet in bytes.chunks(PACKET_SIZE) {
        if let Ok(decoded) = Packet::decode(packet) {
            assert_eq!(decoded.encode(), packet, "{decoded:?}");
        }
    }
}

fn divided(bytes: &[u8]) -> [&[u8]; 2] {
    let Some((cut, rest)) = bytes.split_first() else { return [&[], &[]] };
    rest.split_at(usize::from(*cut).min(rest.len())).into()
}

fn decode<M: Message + Debug + PartialEq>(parts: &[&[u8]], encode: fn(&M) -> Vec<u8>) {
    let mut decoder = Decoder::<M>::new();
    for part in parts {
        decoder.feed(part);
        while let Some(message) = decoder.next_message() {
            match message {
                Ok(message) => check(&message, &encode(&message)),
                Err(error) if error.is_fatal() => return,
                Err(_) => {}
            }
        }
    }
}

#[track_caller]
fn check<M: Message + Debug + PartialEq>(message: &M, bytes: &[u8]) {
    assert!(bytes.len() <= HEAD_SIZE + MAX_BODY as usize);
    let mut decoder = Decoder::<M>::new();
    decoder.feed(bytes);
    match decoder.next_message() {
        Some(Ok(again)) => assert_eq!(again, *message),
        other => panic!("{message:?} is encoded as {other:?}"),
    }
}
