//! Messages from the manager to a provider.

use super::body::{BodyReader, BodyWriter};
use super::{decode_all, encode_message, Message};
use crate::error::ProtocolError;
use crate::mode::BufferingMode;

const REGISTERED: u16 = 0x101;
const INITIALIZE: u16 = 0x102;
const START: u16 = 0x103;
const STOP: u16 = 0x104;
const TERMINATE: u16 = 0x105;
const GET_KNOWN_CATEGORIES: u16 = 0x106;
const FLUSH: u16 = 0x107;
const REFUSED: u16 = 0x108;
const SET_CATEGORIES: u16 = 0x109;
const SET_CONDITIONS: u16 = 0x10a;
const STREAM: u16 = 0x10b;

/// The treatment of records that are in the buffer at a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum BufferDisposition {
    /// Clears the durable and the rolling buffers.
    ClearEntire = 1,
    /// Clears the rolling buffers.
    ClearNondurable = 2,
    /// Keeps the records, and appends to them.
    #[default]
    Retain = 3,
}

impl BufferDisposition {
    /// Returns the disposition with this value, or `None` if the value is unknown.
    pub fn from_value(value: u8) -> Option<Self> {
        match value {
            1 => Some(Self::ClearEntire),
            2 => Some(Self::ClearNondurable),
            3 => Some(Self::Retain),
            _ => None,
        }
    }
}

/// The parameters of a session.
///
/// Two file descriptors are sent with it: the buffer (a sealed memfd, whose header has the sizes),
/// then the provider's end of the packet socket.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Initialize {
    /// The behavior when the buffer is full.
    pub mode: BufferingMode,
    /// Category patterns; see [`CategorySet`](crate::categories::CategorySet).
    pub categories: Vec<String>,
}

/// A condition on the durations of a category and name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DurationLimit {
    /// The number by which packets refer to the condition.
    pub number: u32,
    /// The category.
    pub category: String,
    /// The name.
    pub name: String,
    /// The condition holds for longer durations, in ticks of the provider's clock.
    pub ticks: u64,
}

/// The options of a start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartOptions {
    /// The treatment of records that are in the buffer. [`BufferDisposition::ClearEntire`] by
    /// default: the buffer is new.
    pub disposition: BufferDisposition,
    /// Category patterns for this start, in addition to those of [`Initialize`].
    pub additional_categories: Vec<String>,
}

impl Default for StartOptions {
    fn default() -> Self {
        let disposition = BufferDisposition::ClearEntire;
        Self { disposition, additional_categories: Vec::new() }
    }
}

impl StartOptions {
    /// Returns the patterns of [`Initialize`] with the additional ones. If they select all
    /// categories, the additional ones are left out, because they would restrict the selection.
    pub fn add_to(&self, categories: &[String]) -> Vec<String> {
        let mut patterns = categories.to_vec();
        if patterns.iter().any(|pattern| !pattern.starts_with('-')) {
            patterns.extend(self.additional_categories.iter().cloned());
        }
        patterns
    }
}

/// A message from the manager to a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToProvider {
    /// The reply to [`Register`](super::Register).
    Registered {
        /// Whether a session is running. If so, [`Initialize`](Self::Initialize) and
        /// [`Start`](Self::Start) follow at once.
        started: bool,
    },
    /// Prepares the provider for a session.
    Initialize(Initialize),
    /// Starts recording. The reply is the packet [`Started`](crate::packet::Packet::Started).
    Start(StartOptions),
    /// Stops recording. The reply is the packet [`Stopped`](crate::packet::Packet::Stopped).
    Stop,
    /// Ends the session. The provider stops recording, then closes its packet socket.
    Terminate,
    /// Requests the provider's categories. The reply is
    /// [`KnownCategories`](super::ToManager::KnownCategories).
    GetKnownCategories,
    /// Streaming only: requests the current rolling buffer before it is full.
    Flush,
    /// Changes the categories while the provider records. The reply is the packet
    /// [`CategoriesSet`](crate::packet::Packet::CategoriesSet).
    SetCategories {
        /// A number for the reply.
        sequence: u32,
        /// Category patterns, which replace those of [`Initialize`] and [`StartOptions`].
        categories: Vec<String>,
    },
    /// Replaces the conditions that the provider's trace points compare, from the next
    /// [`Start`](Self::Start) or [`SetCategories`](Self::SetCategories) on. Only for providers with
    /// [`Features::SET_CONDITIONS`](super::Features::SET_CONDITIONS).
    SetConditions(Vec<DurationLimit>),
    /// Circular only: from now on, the buffer is a streaming one, without an interruption. The
    /// reply is the packet [`Streaming`](crate::packet::Packet::Streaming). Only for providers with
    /// [`Features::STREAM`](super::Features::STREAM).
    Stream,
    /// Refuses the provider for this session, or, if the connection is then closed, for all. The
    /// provider retries after a delay.
    Refused {
        /// The reason, with the limit that is reached.
        reason: String,
    },
}

impl ToProvider {
    /// Encodes the message. Categories that exceed the longest body are left out.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Registered { started } => {
                encode_message(REGISTERED, |body| body.u8(u8::from(*started)))
            }
            Self::Initialize(initialize) => encode_message(INITIALIZE, |body| {
                body.u8(initialize.mode as u8);
                write_strings(body, &initialize.categories);
            }),
            Self::Start(options) => encode_message(START, |body| {
                body.u8(options.disposition as u8);
                write_strings(body, &options.additional_categories);
            }),
            Self::Stop => encode_message(STOP, |_| {}),
            Self::Terminate => encode_message(TERMINATE, |_| {}),
            Self::GetKnownCategories => encode_message(GET_KNOWN_CATEGORIES, |_| {}),
            Self::Flush => encode_message(FLUSH, |_| {}),
            Self::SetCategories { sequence, categories } => {
                encode_message(SET_CATEGORIES, |body| {
                    body.u32(*sequence);
                    write_strings(body, categories);
                })
            }
            Self::SetConditions(limits) => encode_message(SET_CONDITIONS, |body| {
                body.list(limits, |body, limit| {
                    body.u32(limit.number);
                    body.string(&limit.category);
                    body.string(&limit.name);
                    body.u64(limit.ticks);
                });
            }),
            Self::Stream => encode_message(STREAM, |_| {}),
            Self::Refused { reason } => encode_message(REFUSED, |body| body.string(reason)),
        }
    }
}

impl Message for ToProvider {
    fn decode_body(kind: u16, untrusted: &[u8]) -> Result<Self, ProtocolError> {
        let empty = |message: Self| decode_all(kind, untrusted, |_| Some(message));
        match kind {
            REGISTERED => {
                decode_all(kind, untrusted, |body| Some(Self::Registered { started: body.bool()? }))
            }
            INITIALIZE => decode_all(kind, untrusted, read_initialize).map(Self::Initialize),
            START => decode_all(kind, untrusted, read_start).map(Self::Start),
            STOP => empty(Self::Stop),
            TERMINATE => empty(Self::Terminate),
            GET_KNOWN_CATEGORIES => empty(Self::GetKnownCategories),
            FLUSH => empty(Self::Flush),
            SET_CATEGORIES => decode_all(kind, untrusted, read_set_categories),
            SET_CONDITIONS => decode_all(kind, untrusted, |body| {
                Some(Self::SetConditions(body.list(read_duration_limit)?))
            }),
            STREAM => empty(Self::Stream),
            REFUSED => {
                decode_all(kind, untrusted, |body| Some(Self::Refused { reason: body.string()? }))
            }
            _ => Err(ProtocolError::UnknownKind(kind)),
        }
    }
}

fn write_strings(body: &mut BodyWriter, strings: &[String]) {
    body.list(strings, |body, text| body.string(text));
}

fn read_strings(body: &mut BodyReader<'_>) -> Option<Vec<String>> {
    body.list(BodyReader::string)
}

fn read_initialize(body: &mut BodyReader<'_>) -> Option<Initialize> {
    Some(Initialize { mode: BufferingMode::from_u8(body.u8()?)?, categories: read_strings(body)? })
}

fn read_start(body: &mut BodyReader<'_>) -> Option<StartOptions> {
    Some(StartOptions {
        disposition: BufferDisposition::from_value(body.u8()?)?,
        additional_categories: read_strings(body)?,
    })
}

fn read_duration_limit(body: &mut BodyReader<'_>) -> Option<DurationLimit> {
    Some(DurationLimit {
        number: body.u32()?,
        category: body.string()?,
        name: body.string()?,
        ticks: body.u64()?,
    })
}

fn read_set_categories(body: &mut BodyReader<'_>) -> Option<ToProvider> {
    Some(ToProvider::SetCategories { sequence: body.u32()?, categories: read_strings(body)? })
}
