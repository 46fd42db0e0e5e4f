//! Messages from a provider to the manager.

use super::body::{BodyReader, BodyWriter};
use super::{decode_all, encode_message, Message};
use crate::error::ProtocolError;

const REGISTER: u16 = 0x1;
const KNOWN_CATEGORIES: u16 = 0x2;
const SUPPORTS: u16 = 0x3;

/// The clock of a provider's ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum ClockSource {
    /// The CPU's invariant counter (`rdtsc`, `cntvct_el0`). The manager measures its rate.
    #[default]
    CpuCounter = 0,
    /// `CLOCK_BOOTTIME` in nanoseconds.
    Boottime = 1,
}

impl ClockSource {
    /// Returns the source with this value, or `None` if the value is unknown.
    pub fn from_value(value: u8) -> Option<Self> {
        match value {
            0 => Some(Self::CpuCounter),
            1 => Some(Self::Boottime),
            _ => None,
        }
    }
}

/// A category that a program declares.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CategoryInfo {
    /// The category's name.
    pub name: String,
    /// A description for users. May be empty.
    pub description: String,
}

/// The description of a provider.
///
/// It has no process id or user id: the manager gets them from the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Register {
    /// The provider's name, at most [`MAX_PROVIDER_NAME`](super::MAX_PROVIDER_NAME) bytes.
    pub name: String,
    /// The name of its process.
    pub process_name: String,
    /// The clock of its ticks.
    pub clock: ClockSource,
    /// The expected size of its durable data, in bytes.
    pub durable_hint: u64,
    /// Its known categories.
    pub categories: Vec<CategoryInfo>,
}

/// The messages beyond those of the first version that a provider accepts, as a set of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Features(u32);

impl Features {
    /// Accepts [`SetCategories`](super::ToProvider::SetCategories).
    pub const SET_CATEGORIES: Self = Self(1);

    /// Accepts [`SetConditions`](super::ToProvider::SetConditions), also for operations. Bit 1 was
    /// that of programs that compared scopes only.
    pub const SET_CONDITIONS: Self = Self(4);

    /// Accepts [`Stream`](super::ToProvider::Stream).
    pub const STREAM: Self = Self(8);

    /// Returns this set with `features`.
    #[must_use]
    pub const fn with(self, features: Self) -> Self {
        Self(self.0 | features.0)
    }

    /// Returns the features with these bits. Later versions may define further bits.
    pub fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Returns the bits.
    pub fn bits(self) -> u32 {
        self.0
    }

    /// Returns whether all of `features` are in this set.
    pub fn contains(self, features: Self) -> bool {
        self.0 & features.0 == features.0
    }
}

/// A message from a provider to the manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToManager {
    /// The features of a provider, before its registration. Managers of the first version skip it.
    Supports(Features),
    /// The registration of a provider. The reply is [`Registered`](super::ToProvider::Registered).
    Register(Register),
    /// The reply to [`GetKnownCategories`](super::ToProvider::GetKnownCategories).
    KnownCategories(Vec<CategoryInfo>),
}

impl ToManager {
    /// Encodes the message. Categories that exceed the longest body are left out.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Supports(features) => encode_message(SUPPORTS, |body| body.u32(features.bits())),
            Self::Register(register) => encode_message(REGISTER, |body| {
                body.string(&register.name);
                body.string(&register.process_name);
                body.u8(register.clock as u8);
                body.u64(register.durable_hint);
                write_categories(body, &register.categories);
            }),
            Self::KnownCategories(categories) => {
                encode_message(KNOWN_CATEGORIES, |body| write_categories(body, categories))
            }
        }
    }
}

impl Message for ToManager {
    fn decode_body(kind: u16, untrusted: &[u8]) -> Result<Self, ProtocolError> {
        match kind {
            SUPPORTS => decode_all(kind, untrusted, |body| {
                Some(Self::Supports(Features::from_bits(body.u32()?)))
            }),
            REGISTER => decode_all(kind, untrusted, read_register).map(Self::Register),
            KNOWN_CATEGORIES => {
                decode_all(kind, untrusted, read_categories).map(Self::KnownCategories)
            }
            _ => Err(ProtocolError::UnknownKind(kind)),
        }
    }
}

fn write_categories(body: &mut BodyWriter, categories: &[CategoryInfo]) {
    body.list(categories, |body, category| {
        body.string(&category.name);
        body.string(&category.description);
    });
}

fn read_categories(body: &mut BodyReader<'_>) -> Option<Vec<CategoryInfo>> {
    body.list(|body| Some(CategoryInfo { name: body.string()?, description: body.string()? }))
}

fn read_register(body: &mut BodyReader<'_>) -> Option<Register> {
    Some(Register {
        name: body.string()?,
        process_name: body.string()?,
        clock: ClockSource::from_value(body.u8()?)?,
        durable_hint: body.u64()?,
        categories: read_categories(body)?,
    })
}
