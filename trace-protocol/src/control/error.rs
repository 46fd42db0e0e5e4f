//! Errors in replies. The values of [`StartError`], [`StopError`] and [`FlushError`] are those of
//! Fuchsia's controller protocol.

use std::fmt;

use super::field::{codes, record, Field};
use crate::message::body::{BodyReader, BodyWriter};

record! {
    /// The reply to a request that failed.
    pub struct ControlError {
        /// The error's value, for programs.
        pub code: ErrorCode,
        /// The reason, for people.
        pub reason: String,
    }
}

/// The value of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// An error of any request.
    General(GeneralError),
    /// An error of Start.
    Start(StartError),
    /// An error of Stop.
    Stop(StopError),
    /// An error of Flush.
    Flush(FlushError),
}

codes! {
    /// An error of any request.
    pub enum GeneralError {
        /// A field of the request is wrong, or its descriptor is missing.
        BadRequest = 1,
        /// No session of this user has the name.
        NoSession = 2,
        /// A session of this user has the name already.
        NameInUse = 3,
        /// A quota of this user is reached.
        Quota = 4,
        /// The output cannot be written.
        Output = 5,
        /// The daemon does not support the option.
        Unsupported = 6,
        /// The manager failed.
        Failed = 7,
        /// The daemon ends.
        ShuttingDown = 8,
    }
}

codes! {
    /// An error of Start.
    pub enum StartError {
        /// The session is not initialized.
        NotInitialized = 1,
        /// The session has started.
        AlreadyStarted = 2,
        /// The session is stopping.
        Stopping = 3,
        /// The session is ending.
        Terminating = 4,
    }
}

codes! {
    /// An error of Stop.
    pub enum StopError {
        /// The session is not initialized.
        NotInitialized = 1,
        /// The session has not started.
        NotStarted = 2,
        /// The session was aborted.
        Aborted = 3,
    }
}

codes! {
    /// An error of Flush.
    pub enum FlushError {
        /// The session is not initialized.
        NotInitialized = 1,
        /// The session has not started.
        NotStarted = 2,
        /// The session was aborted.
        Aborted = 3,
    }
}

impl ControlError {
    /// Creates an error of any request.
    pub fn general(code: GeneralError, reason: impl Into<String>) -> Self {
        Self { code: ErrorCode::General(code), reason: reason.into() }
    }
}

impl Default for ErrorCode {
    fn default() -> Self {
        Self::General(GeneralError::Failed)
    }
}

impl Field for ErrorCode {
    fn write(&self, body: &mut BodyWriter) {
        match self {
            Self::General(error) => (0u8, *error).write(body),
            Self::Start(error) => (1u8, *error).write(body),
            Self::Stop(error) => (2u8, *error).write(body),
            Self::Flush(error) => (3u8, *error).write(body),
        }
    }

    fn read(untrusted: &mut BodyReader<'_>) -> Option<Self> {
        match untrusted.u8()? {
            0 => Field::read(untrusted).map(Self::General),
            1 => Field::read(untrusted).map(Self::Start),
            2 => Field::read(untrusted).map(Self::Stop),
            3 => Field::read(untrusted).map(Self::Flush),
            _ => None,
        }
    }
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl std::error::Error for ControlError {}
