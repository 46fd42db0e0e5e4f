//! Messages of the control socket, in both directions.

use std::fmt::Debug;

use trace_protocol::control::{ToController, ToDaemon};
use trace_protocol::message::{Decoder, Message, HEAD_SIZE, MAX_BODY};

/// The first byte divides the rest, so that messages arrive in two parts. Each message that is
/// decoded is the same after it is encoded again.
pub fn control(bytes: &[u8]) {
    let Some((cut, rest)) = bytes.split_first() else { return };
    let (first, second) = rest.split_at(usize::from(*cut).min(rest.len()));
    decode(&[first, second], ToDaemon::encode);
    decode(&[first, second], ToController::encode);
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
