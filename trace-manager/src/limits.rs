//! Limits of the resources that providers use in the manager.

use std::time::Duration;

/// The limits of one resource for a process, a user and all users.
///
/// All three apply. The limit for a user is below the total, so that one user cannot deny the
/// others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// The limit for a process, as the kernel numbers it, under one user. A process that changes
    /// its user has this limit for each user.
    pub process: u64,
    /// The limit for all processes of a user.
    pub user: u64,
    /// The limit for all users.
    pub total: u64,
}

/// Limits of the resources that providers use in the manager. A provider that exceeds one is
/// refused with a message that names the limit, and is listed in the summary. Others are not
/// affected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Registered connections; default 256 for a process, which needs one, 16,384 for a user,
    /// 32,768 in total. File descriptors may allow fewer; see [`Limits::reserve`].
    pub providers: Bound,
    /// Unregistered connections of a user; default 64. Programs register as soon as they are
    /// connected, so few exist at a time. At the limit, the oldest is closed.
    pub unregistered: u64,
    /// The time in which a connection must register; default 5 s, as for other replies of
    /// providers.
    pub register_timeout: Duration,
    /// File descriptors reserved for accepting connections and for files of the archive; default
    /// 64. A provider uses [`Limits::DESCRIPTORS`] of the others. A user may use three quarters of
    /// these.
    pub reserve: u64,
    /// Bytes of incomplete messages and of known categories; default 8 MiB for a process, because a
    /// decoded message of 1 MiB may take six times its size, 32 MiB for a user, 64 MiB in total.
    pub messages: Bound,
    /// Packets of all programs of a user in a second; default 400,000, twice those of one program.
    /// A program that exceeds it is cut off. Each request to save has a full buffer, so that the
    /// records of a machine at the highest rate take fewer.
    pub packets: u32,
    /// Bytes of buffers in a session. Default [`None`]: a quarter of the memory available at the
    /// start of the session for a process, half of it for a user, three quarters in total, and at
    /// least one buffer of the session's size. A buffer counts until its contents are archived and
    /// its memory is freed, which the manager does even if other processes have it mapped. The
    /// buffer of a provider that did not reply to Stop counts until the provider closes its packet
    /// socket or its connection.
    pub buffers: Option<Bound>,
}

impl Limits {
    /// The most file descriptors of a provider: its socket, its process, its buffer, and both ends
    /// of its packet socket, until one of them is sent.
    pub const DESCRIPTORS: u64 = 5;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            providers: Bound { process: 256, user: 16 << 10, total: 32 << 10 },
            unregistered: 64,
            register_timeout: Duration::from_secs(5),
            reserve: 64,
            messages: Bound { process: 8 << 20, user: 32 << 20, total: 64 << 20 },
            packets: 400_000,
            buffers: None,
        }
    }
}

impl Bound {
    /// Returns the default bound of the buffers of a session whose default buffer has `size` bytes.
    pub(crate) fn of_buffers(available: u64, size: u64) -> Self {
        Self {
            process: (available / 4).max(size),
            user: (available / 2).max(size),
            total: (available / 4 * 3).max(size),
        }
    }

    /// Returns the bound lowered to `total`.
    pub(crate) fn within(self, total: u64) -> Self {
        let total = self.total.min(total).max(1);
        let user = self.user.min(total / 4 * 3).max(1);
        Self { process: self.process.min(user), user, total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_get_shares_of_the_available_memory() {
        let bound = Bound { process: 250, user: 500, total: 750 };
        assert_eq!(Bound::of_buffers(1000, 10), bound);
        let bound = Bound { process: 600, user: 600, total: 750 };
        assert_eq!(Bound::of_buffers(1000, 600), bound, "at least one buffer");
        assert_eq!(Bound::of_buffers(0, 9), Bound { process: 9, user: 9, total: 9 });
    }
}
