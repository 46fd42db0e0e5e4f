//! The encodings of fields, and of the structures and enumerations made of them.

use std::time::Duration;

use crate::message::body::{BodyReader, BodyWriter};
use crate::message::{BufferDisposition, ClockSource};
use crate::mode::BufferingMode;

/// A value with one encoding in a message's body.
pub(super) trait Field: Sized {
    /// Appends the value.
    fn write(&self, body: &mut BodyWriter);

    /// Decodes a value of an untrusted body. Returns `None` if it is malformed.
    fn read(untrusted: &mut BodyReader<'_>) -> Option<Self>;
}

/// Implements [`Field`] for types for which the body has a method of the same name.
macro_rules! plain {
    ($($type:ident),*) => {
        $(impl Field for $type {
            fn write(&self, body: &mut BodyWriter) {
                body.$type(*self);
            }

            fn read(untrusted: &mut BodyReader<'_>) -> Option<Self> {
                untrusted.$type()
            }
        })*
    };
}

plain!(u8, u32, u64);

impl Field for bool {
    fn write(&self, body: &mut BodyWriter) {
        body.u8(u8::from(*self));
    }

    fn read(untrusted: &mut BodyReader<'_>) -> Option<Self> {
        untrusted.bool()
    }
}

impl Field for String {
    fn write(&self, body: &mut BodyWriter) {
        body.string(self);
    }

    fn read(untrusted: &mut BodyReader<'_>) -> Option<Self> {
        untrusted.string()
    }
}

/// Nanoseconds; longer durations are cut at 584 years.
impl Field for Duration {
    fn write(&self, body: &mut BodyWriter) {
        body.u64(u64::try_from(self.as_nanos()).unwrap_or(u64::MAX));
    }

    fn read(untrusted: &mut BodyReader<'_>) -> Option<Self> {
        untrusted.u64().map(Self::from_nanos)
    }
}

impl<T: Field> Field for Option<T> {
    fn write(&self, body: &mut BodyWriter) {
        self.is_some().write(body);
        if let Some(value) = self {
            value.write(body);
        }
    }

    fn read(untrusted: &mut BodyReader<'_>) -> Option<Self> {
        match untrusted.bool()? {
            true => T::read(untrusted).map(Some),
            false => Some(None),
        }
    }
}

impl<A: Field, B: Field> Field for (A, B) {
    fn write(&self, body: &mut BodyWriter) {
        self.0.write(body);
        self.1.write(body);
    }

    fn read(untrusted: &mut BodyReader<'_>) -> Option<Self> {
        Some((A::read(untrusted)?, B::read(untrusted)?))
    }
}

impl<T: Field> Field for Vec<T> {
    fn write(&self, body: &mut BodyWriter) {
        body.list(self, |body, item| item.write(body));
    }

    /// Reserves no memory by the untrusted count.
    fn read(untrusted: &mut BodyReader<'_>) -> Option<Self> {
        let mut items = Self::new();
        for _ in 0..untrusted.u32()? {
            items.push(T::read(untrusted)?);
        }
        Some(items)
    }
}

/// Implements [`Field`] for an enumeration that is one byte.
macro_rules! by_value {
    ($($type:ty, $from:path;)*) => {
        $(impl Field for $type {
            fn write(&self, body: &mut BodyWriter) {
                body.u8(*self as u8);
            }

            fn read(untrusted: &mut BodyReader<'_>) -> Option<Self> {
                $from(untrusted.u8()?)
            }
        })*
    };
}

by_value! {
    BufferingMode, BufferingMode::from_u8;
    BufferDisposition, BufferDisposition::from_value;
    ClockSource, ClockSource::from_value;
}

/// Defines a structure whose fields are encoded in order.
macro_rules! record {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$about:meta])* pub $field:ident: $type:ty,)*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Default)]
        pub struct $name {
            $($(#[$about])* pub $field: $type,)*
        }

        impl $crate::control::field::Field for $name {
            fn write(&self, body: &mut $crate::message::body::BodyWriter) {
                $($crate::control::field::Field::write(&self.$field, body);)*
            }

            fn read(untrusted: &mut $crate::message::body::BodyReader<'_>) -> Option<Self> {
                Some(Self { $($field: $crate::control::field::Field::read(untrusted)?,)* })
            }
        }
    };
}

/// Defines an enumeration that is encoded as one byte.
macro_rules! codes {
    ($(#[$meta:meta])* pub enum $name:ident {
        $($(#[$about:meta])* $variant:ident = $value:literal,)*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name {
            $($(#[$about])* $variant = $value,)*
        }

        impl $name {
            /// All values, in their order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];
        }

        impl $crate::control::field::Field for $name {
            fn write(&self, body: &mut $crate::message::body::BodyWriter) {
                body.u8(*self as u8);
            }

            fn read(untrusted: &mut $crate::message::body::BodyReader<'_>) -> Option<Self> {
                match untrusted.u8()? {
                    $($value => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

/// Defines the messages of one direction, by kind, and their encoding.
macro_rules! messages {
    ($(#[$meta:meta])* pub enum $name:ident {
        $($(#[$about:meta])* $variant:ident $(($value:ident: $type:ty))? = $kind:literal,)*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum $name {
            $($(#[$about])* $variant $(($type))?,)*
        }

        impl $name {
            /// Returns the kind of its message.
            pub fn kind(&self) -> u16 {
                match self {
                    $(Self::$variant { .. } => $kind,)*
                }
            }

            /// Appends its fields.
            fn write(&self, body: &mut $crate::message::body::BodyWriter) {
                match self {
                    $(Self::$variant $(($value))? => {
                        let _ = &body;
                        $($crate::control::field::Field::write($value, body);)?
                    })*
                }
            }

            /// Returns whether a message has this kind.
            fn has_kind(kind: u16) -> bool {
                [$($kind),*].contains(&kind)
            }

            /// Decodes the fields of a message of this kind.
            fn read(
                kind: u16,
                untrusted: &mut $crate::message::body::BodyReader<'_>,
            ) -> Option<Self> {
                match kind {
                    $($kind => {
                        let _ = &untrusted;
                        Some(Self::$variant $((<$type as $crate::control::field::Field>::read(
                            untrusted,
                        )?))?)
                    })*
                    _ => None,
                }
            }
        }
    };
}

pub(super) use {codes, messages, record};
