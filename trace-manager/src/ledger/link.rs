//! The manager's socket to the guard, and messages that wait until it has space.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use trace_protocol::socket::Socket;

use super::messages::Message;

#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) socket: Socket,
    /// Closed providers that are not sent yet, because the socket was full.
    pub(crate) unsent: Mutex<Vec<u32>>,
    /// Category patterns that are not sent yet, because the socket was full.
    categories: Mutex<Option<UnsentCategories>>,
    /// Why the guard would not complete the archive.
    pub(crate) failure: OnceLock<&'static str>,
}

/// Messages with new category patterns.
#[derive(Debug)]
pub(crate) struct UnsentCategories {
    pub(crate) messages: Vec<Message>,
    /// When the guard is given up.
    pub(crate) deadline: Instant,
}

impl Link {
    pub(crate) fn new(socket: Socket) -> Self {
        let (unsent, categories) = (Mutex::default(), Mutex::default());
        Self { socket, unsent, categories, failure: OnceLock::new() }
    }

    pub(crate) fn unsent_categories(&self) -> MutexGuard<'_, Option<UnsentCategories>> {
        self.categories.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the unsent category patterns, as many as the socket has space for. Fails if the guard
    /// does not take them in time.
    pub(crate) fn send_categories(&self) -> io::Result<()> {
        let mut unsent = self.unsent_categories();
        while let Some(UnsentCategories { messages, deadline }) = &mut *unsent {
            let Some(message) = messages.first() else { break };
            match self.send(message, &[]) {
                Ok(()) => drop(messages.remove(0)),
                Err(error) => {
                    let is_full = error.kind() == io::ErrorKind::WouldBlock;
                    if is_full && Instant::now() < *deadline {
                        return Ok(());
                    }
                    *unsent = None;
                    return Err(error);
                }
            }
        }
        *unsent = None;
        Ok(())
    }

    pub(crate) fn send(&self, message: &Message, handles: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.socket.send(&message.encode(), handles).map(drop)
    }

    /// Makes the guard free a provider's memory, now or with the next call.
    pub(crate) fn close(&self, id: u32) {
        let mut unsent = self.unsent.lock().unwrap_or_else(PoisonError::into_inner);
        unsent.push(id);
        while let Some(id) = unsent.last() {
            match self.send(&Message::Closed(*id), &[]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // The message is sent, or the guard has ended.
                _ => unsent.pop(),
            };
        }
    }
}
