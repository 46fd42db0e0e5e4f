//! Ids of requests across services: the header `traceparent` of [W3C trace
//! context](https://www.w3.org/TR/trace-context/).
//!
//! A service reads the header of a request, makes the context of its own part of it, records both
//! as arguments, and sends its own context with the requests that it makes:
//!
//! ```
//! use trace_runtime::trace_duration;
//! use trace_runtime::w3c::TraceParent;
//!
//! # fn call(_: &str) {}
//! fn handle(traceparent: Option<&str>) {
//!     let caller = traceparent.and_then(|header| header.parse::<TraceParent>().ok());
//!     let own = caller.map_or_else(TraceParent::random, |caller| caller.child());
//!     trace_duration!(
//!         "http", "request",
//!         "trace_id" => own.trace_id(),
//!         "span_id" => own.span_id(),
//!         "parent_span_id" => caller.map(|caller| caller.span_id()),
//!     );
//!     call(&own.to_string()); // the header of a request to another service
//! }
//! # handle(Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
//! ```
//!
//! `trace query app.fxt --otlp app.otlp` writes the durations with these arguments for
//! OpenTelemetry. Nothing here depends on whether a session records.

use std::collections::hash_map::RandomState;
use std::error::Error;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::str::FromStr;

use crate::ArgValue;

/// The length of a header of version 00, and the least of a later one, in bytes.
const LENGTH: usize = 55;

/// The flag of a request that is recorded.
const SAMPLED: u8 = 1;

/// An id as lower-case hexadecimal digits, which are not all 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Digits<const N: usize>([u8; N]);

impl<const N: usize> Digits<N> {
    fn parse(text: &[u8]) -> Option<Self> {
        let digits: [u8; N] = text.try_into().ok()?;
        let is_valid = digits.iter().all(|byte| is_digit(*byte));
        (is_valid && digits.iter().any(|byte| *byte != b'0')).then_some(Self(digits))
    }

    fn random() -> Self {
        let mut digits = [b'0'; N];
        for sixteen in digits.chunks_mut(16) {
            let mut number = random();
            for digit in sixteen.iter_mut().rev() {
                *digit = b"0123456789abcdef".get((number & 15) as usize).copied().unwrap_or(b'0');
                number >>= 4;
            }
        }
        Self(digits)
    }

    fn as_str(&self) -> &str {
        // Digits are ASCII.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

fn is_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

/// Returns a random number that is not 0.
fn random() -> u64 {
    // The standard library seeds the keys once in a thread by the kernel's random numbers, and
    // changes them each time.
    RandomState::new().build_hasher().finish().max(1)
}

/// Defines the type of an id.
macro_rules! id {
    ($(#[$about:meta])* $name:ident, $length:literal) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name(Digits<$length>);

        impl $name {
            /// Returns a random id. Costs about 20 ns.
            #[must_use]
            pub fn random() -> Self {
                Self(Digits::random())
            }

            /// Returns the hexadecimal digits.
            #[must_use]
            pub fn as_str(&self) -> &str {
                self.0.as_str()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = ParseError;

            fn from_str(text: &str) -> Result<Self, ParseError> {
                Digits::parse(text.as_bytes()).map(Self).ok_or(ParseError)
            }
        }

        /// Recorded as its hexadecimal digits.
        impl ArgValue for $name {
            type Arg<'a> = &'a str;

            fn arg(&self) -> &str {
                self.as_str()
            }
        }
    };
}

id! {
    /// The id of a request in all services, of 32 lower-case hexadecimal digits that are not all 0.
    TraceId, 32
}

id! {
    /// The id of one service's part of a request, of 16 such digits.
    SpanId, 16
}

/// A header is not a `traceparent`, or an id has other characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseError;

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a trace context of W3C")
    }
}

impl Error for ParseError {}

/// A part of a request: the value of the header `traceparent`.
///
/// [`FromStr`] reads version 00, and of later versions what version 00 has.
/// [`Display`](fmt::Display) writes version 00.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceParent {
    trace_id: TraceId,
    span_id: SpanId,
    flags: u8,
}

impl TraceParent {
    /// Returns the context of a new request with random ids, which is sampled.
    #[must_use]
    pub fn random() -> Self {
        Self { trace_id: TraceId::random(), span_id: SpanId::random(), flags: SAMPLED }
    }

    /// Returns a context with these ids.
    #[must_use]
    pub fn new(trace_id: TraceId, span_id: SpanId, is_sampled: bool) -> Self {
        Self { trace_id, span_id, flags: if is_sampled { SAMPLED } else { 0 } }
    }

    /// Returns the context of another part of the same request, with a random span id and the same
    /// flags.
    #[must_use]
    pub fn child(self) -> Self {
        // Only flags of version 00 are sent on.
        Self { span_id: SpanId::random(), flags: self.flags & SAMPLED, ..self }
    }

    /// Returns the id of the request.
    #[must_use]
    pub fn trace_id(&self) -> TraceId {
        self.trace_id
    }

    /// Returns the id of this part.
    #[must_use]
    pub fn span_id(&self) -> SpanId {
        self.span_id
    }

    /// Returns whether the caller may have recorded the request.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{:02x}", self.trace_id, self.span_id, self.flags)
    }
}

impl FromStr for TraceParent {
    type Err = ParseError;

    fn from_str(header: &str) -> Result<Self, ParseError> {
        parse(header.as_bytes()).ok_or(ParseError)
    }
}

fn parse(header: &[u8]) -> Option<TraceParent> {
    let (known, later) = (header.get(..LENGTH)?, header.get(LENGTH..)?);
    let mut parts = known.split(|byte| *byte == b'-');
    let version = byte(parts.next()?)?;
    let trace_id = TraceId(Digits::parse(parts.next()?)?);
    let span_id = SpanId(Digits::parse(parts.next()?)?);
    let flags = byte(parts.next()?)?;
    let is_end = match version {
        0 => later.is_empty(),
        0xff => false,
        _ => later.first().is_none_or(|byte| *byte == b'-'),
    };
    (is_end && parts.next().is_none()).then_some(TraceParent { trace_id, span_id, flags })
}

/// Returns the value of two lower-case hexadecimal digits.
fn byte(digits: &[u8]) -> Option<u8> {
    if digits.len() != 2 || !digits.iter().all(|byte| is_digit(*byte)) {
        return None;
    }
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification.
    const HEADER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_header_is_read_and_written() {
        let parent: TraceParent = HEADER.parse().unwrap();
        assert_eq!(parent.trace_id().as_str(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(parent.span_id().as_str(), "00f067aa0ba902b7");
        assert!(parent.is_sampled());
        assert_eq!(parent.to_string(), HEADER);
        let parent: TraceParent = HEADER.replace("-01", "-00").parse().unwrap();
        assert!(!parent.is_sampled());
        assert_eq!(TraceParent::new(parent.trace_id(), parent.span_id(), true).to_string(), HEADER);
    }

    /// The rules of "Versioning of traceparent" and "traceparent Header Field Values".
    #[test]
    fn other_headers_are_refused() {
        let later = HEADER.replacen("00", "cc", 1);
        for accepted in [later.clone(), format!("{later}-what the future will be like")] {
            assert_eq!(accepted.parse(), HEADER.parse::<TraceParent>(), "{accepted}");
        }
        for refused in [
            "",
            &HEADER[..54],
            &format!("{HEADER}-"),
            &format!("{HEADER}0"),
            &format!("{later}."),
            &HEADER.replacen("00", "ff", 1),
            &HEADER.replacen("00", "0", 1),
            &HEADER.replace("4bf9", "4BF9"),
            &HEADER.replace("4bf9", "4bg9"),
            &HEADER.replace("-01", "-0x"),
            &HEADER.replace("-01", "_01"),
            &HEADER.replace("-00f0", "00-f0"),
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            &"é".repeat(40),
        ] {
            assert_eq!(refused.parse::<TraceParent>(), Err(ParseError), "{refused}");
        }
    }

    #[test]
    fn a_child_has_the_request_and_another_span() {
        let parent: TraceParent = HEADER.replace("-01", "-ff").parse().unwrap();
        let child = parent.child();
        assert_eq!(child.trace_id(), parent.trace_id());
        assert_ne!(child.span_id(), parent.span_id());
        assert!(child.to_string().ends_with("-01"), "{child}");
    }

    #[test]
    fn random_ids_differ_and_can_be_read() {
        let ids: std::collections::HashSet<String> =
            (0..1000).map(|_| TraceParent::random().to_string()).collect();
        assert_eq!(ids.len(), 1000);
        assert!(ids.iter().all(|id| id.parse::<TraceParent>().unwrap().to_string() == *id));
        let id: TraceId = "4bf92f3577b34da6a3ce929d0e0e4736".parse().unwrap();
        assert_eq!(id.arg(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert!("4bf92f35".parse::<SpanId>().is_err());
    }
}
