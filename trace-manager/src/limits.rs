//! What providers may take of the manager.

use std::time::Duration;

/// How much of something one process, one user and all together may take.
///
/// The smallest bound that is reached counts. The bound of a user leaves room for others: one of
/// them cannot deny the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// The most for a process, as the kernel numbers it, under one user: a process that changes its
    /// user has this limit for each of them.
    pub process: u64,
    /// The most for all processes of a user.
    pub user: u64,
    /// The most for all users.
    pub total: u64,
}

/// What providers may take of the manager. Who goes beyond a limit is refused with a message that
/// names it, and is in the summary; others do not notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections that have registered; default 256 for a process, which needs one, 16,384 for a
    /// user, 32,768 in all. File descriptors may allow fewer; see [`Limits::reserve`].
    pub providers: Bound,
    /// Connections of a user that have not registered; default 64. Programs register as soon as
    /// they are connected, so that few are in between. Beyond it the oldest one is closed.
    pub unregistered: u64,
    /// How long a connection may take to register; default 5 s, as for other answers of providers.
    pub register_timeout: Duration,
    /// File descriptors that are kept for accepting and for files of the archive; default 64. A
    /// provider takes [`Limits::DESCRIPTORS`] of those beyond them. Of these, a user may take three
    /// quarters.
    pub reserve: u64,
    /// Bytes of messages that are not complete, and of known categories; default 8 MiB for a
    /// process, since a message of 1 MiB may take six times as much when it is read, 32 MiB for a
    /// user, 64 MiB in all.
    pub messages: Bound,
    /// Bytes of buffers in a session. Default [`None`]: a quarter of the memory that is available
    /// when the session starts for a process, half of it for a user, three quarters in all; and
    /// always room for one buffer of the session's size. A buffer counts until its contents are in
    /// the archive and its memory is free again, which the manager frees, whoever has it mapped.
    /// The buffer of a provider that did not answer to Stop counts until the provider closes its
    /// packet socket or its connection.
    pub buffers: Option<Bound>,
}

impl Limits {
    /// File descriptors of a provider at most: its socket, its process, its buffer, and both ends
    /// of its packet socket, one of them on its way.
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
            buffers: None,
        }
    }
}

impl Bound {
    /// The default for the buffers of a session whose usual buffer has `size` bytes.
    pub(crate) fn of_buffers(available: u64, size: u64) -> Self {
        Self {
            process: (available / 4).max(size),
            user: (available / 2).max(size),
            total: (available / 4 * 3).max(size),
        }
    }

    /// The same bound, lowered to what `total` allows.
    pub(crate) fn within(self, total: u64) -> Self {
        let total = self.total.min(total).max(1);
        let user = self.user.min(total / 4 * 3).max(1);
        Self { process: self.process.min(user), user, total }
    }
}
