//! The sources of the event loop's events.

use std::os::fd::OwnedFd;

use rustix::event::epoll::{self, EventData};

use crate::foreign::ForeignSocket;
use crate::machine::ProviderId;

/// The source of an epoll event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Listener,
    Inbox,
    Messages(ProviderId),
    Packets(ProviderId),
    /// The end of the process, which may happen before its sockets close.
    Process(ProviderId),
    /// The end of the packet socket of a retained buffer.
    Retained(ProviderId),
}

impl Source {
    pub(super) fn data(self) -> EventData {
        let (kind, id) = match self {
            Self::Listener => (0, 0),
            Self::Inbox => (1, 0),
            Self::Messages(id) => (2, id),
            Self::Packets(id) => (3, id),
            Self::Process(id) => (4, id),
            Self::Retained(id) => (5, id),
        };
        EventData::new_u64(u64::from(id) << 3 | kind)
    }

    pub(super) fn from_data(data: EventData) -> Self {
        let data = data.u64();
        let id = (data >> 3) as ProviderId;
        match data & 7 {
            0 => Self::Listener,
            1 => Self::Inbox,
            2 => Self::Messages(id),
            3 => Self::Packets(id),
            4 => Self::Process(id),
            _ => Self::Retained(id),
        }
    }
}

/// Removes a packet socket from epoll and closes it. Closing alone would not remove it, because the
/// guard has it too.
pub(super) fn unwatch(epoll: &OwnedFd, packets: Option<ForeignSocket>) {
    if let Some(packets) = packets {
        // Fails only if the socket is not watched, and it is.
        let _ = epoll::delete(epoll, &packets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_round_trip() {
        let of_provider =
            [Source::Messages, Source::Packets, Source::Process, Source::Retained].into_iter();
        let ids = [0, 1, ProviderId::MAX];
        let of_providers = of_provider.flat_map(|source| ids.map(source));
        for source in [Source::Listener, Source::Inbox].into_iter().chain(of_providers) {
            assert_eq!(Source::from_data(source.data()), source);
        }
    }
}
