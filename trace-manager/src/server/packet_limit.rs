//! The limit of the packets that the programs of a user send in a second.

use std::time::{Duration, Instant};

use rustix::event::epoll::{self, EventFlags};
use rustix::io::Errno;

use super::source::Source;
use super::state::EventLoop;
use crate::machine::{ProviderId, Violation};
use crate::quota::Owner;

/// The pause of packets that cannot be watched.
const PAUSE: Duration = Duration::from_secs(1);

impl EventLoop {
    /// Limits a connection that has sent a packet when its user had sent too many in this second.
    /// Its next packets wait until the next second. Returns the violation if the connection itself
    /// has sent more than its share.
    pub(super) fn limit_packets(&mut self, id: ProviderId) -> Result<(), Violation> {
        let Some(connection) = self.connections.get(&id) else { return Ok(()) };
        let peer = connection.peer;
        let number = self.admission.providers.used(Owner::User, peer).max(1);
        let share = u64::from(self.admission.limits.packets) / number;
        if u64::from(connection.packet_rate.number) > share {
            return Err(Violation::UserFlood);
        }
        if let Some(packets) = &connection.packets {
            // Else epoll would report them again and again.
            let _ = epoll::delete(&self.epoll, packets);
        }
        let until = self.admission.next_packets(peer.uid);
        self.paused.add(peer.uid, id, until);
        Ok(())
    }

    /// Reads the packets of users again whose second is over. Those that cannot be watched because
    /// memory is short wait again.
    pub(super) fn resume_packets(&mut self) {
        let now = Instant::now();
        for id in self.paused.take(now) {
            let Some(connection) = self.connections.get(&id) else { continue };
            let Some(packets) = &connection.packets else { continue };
            let data = Source::Packets(id).data();
            match epoll::add(&self.epoll, packets, data, EventFlags::IN) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(_) => self.paused.add(connection.peer.uid, id, now + PAUSE),
            }
        }
    }
}
