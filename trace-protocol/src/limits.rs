//! The version and the size limits of messages.

/// The version of the message protocol.
pub const VERSION: u16 = 1;

/// The longest body of a message, in bytes.
pub const MAX_BODY: u32 = 1 << 20;

/// The length of a message's head in bytes.
pub const HEAD_SIZE: usize = 8;

/// The most conditions that a provider accepts.
pub const MAX_LIMITS: usize = 4096;

/// The most bytes of the categories and names of conditions that a provider accepts.
pub const MAX_LIMIT_BYTES: usize = 64 << 10;

/// The longest name of a provider, in bytes. The manager cuts longer ones.
pub const MAX_PROVIDER_NAME: usize = 100;
