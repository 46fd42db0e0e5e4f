//! The thread that reads the last records of providers.
//!
//! A buffer may be large and a provider may die at any time. If the event loop read it, the other
//! providers would wait.

use std::io;
use std::thread;

use crossbeam_channel::{Receiver, Sender, TryRecvError};

use super::provider::{Departure, FinalRecords, ProviderData};
use crate::machine::ProviderId;
use crate::records::Spares;
use crate::waker::Waker;

#[derive(Debug)]
struct Job {
    id: ProviderId,
    provider: ProviderData,
    departure: Departure,
    spares: Spares,
}

/// The loop's end of the thread.
#[derive(Debug)]
pub(crate) struct Finisher {
    jobs: Sender<Job>,
    remains: Receiver<FinalRecords>,
    outstanding: usize,
}

impl Finisher {
    /// Starts the thread. It ends with this value, and wakes the loop when records are ready.
    pub(crate) fn spawn(waker: Waker) -> io::Result<Self> {
        let (jobs, to_do) = crossbeam_channel::unbounded();
        let (done, remains) = crossbeam_channel::unbounded();
        let builder = thread::Builder::new().name("trace-finish".to_owned());
        builder.spawn(move || work(&to_do, &done, &waker))?;
        Ok(Self { jobs, remains, outstanding: 0 })
    }

    /// Starts to read the rest of a provider's buffer.
    pub(crate) fn finish(
        &mut self,
        id: ProviderId,
        provider: ProviderData,
        departure: Departure,
        spares: Spares,
    ) {
        if self.jobs.send(Job { id, provider, departure, spares }).is_ok() {
            self.outstanding += 1;
        }
    }

    /// Takes the next records that are ready.
    pub(crate) fn take(&mut self) -> Option<FinalRecords> {
        match self.remains.try_recv() {
            Ok(remains) => {
                self.outstanding -= 1;
                Some(remains)
            }
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                // The thread panicked and returns nothing. The session must still end.
                self.outstanding = 0;
                None
            }
        }
    }

    /// Returns the number of providers whose records are not ready.
    pub(crate) fn outstanding(&self) -> usize {
        self.outstanding
    }
}

fn work(jobs: &Receiver<Job>, done: &Sender<FinalRecords>, waker: &Waker) {
    for Job { id, provider, departure, spares } in jobs {
        if done.send(provider.finish(id, &departure, &spares)).is_err() {
            return;
        }
        waker.wake();
    }
}
