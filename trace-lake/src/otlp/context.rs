//! Ids of requests and spans.

use sha2::{Digest, Sha256};

/// The id of a request, of 16 bytes that are not all 0.
pub(super) type TraceId = [u8; 16];

/// The id of a span, of 8 bytes that are not all 0.
pub(super) type SpanId = [u8; 8];

/// Where a span is in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Context {
    pub(super) trace_id: TraceId,
    pub(super) span_id: SpanId,
    pub(super) parent: Option<SpanId>,
    /// The flags of the header, or 1.
    pub(super) flags: u8,
}

/// The ids that the arguments of a span have.
#[derive(Debug, Default)]
pub(super) struct Ids {
    pub(super) trace_id: Option<TraceId>,
    pub(super) span_id: Option<SpanId>,
    pub(super) parent: Option<SpanId>,
    pub(super) flags: Option<u8>,
    pub(super) state: Option<String>,
    /// Arguments with the names of ids and other values.
    pub(super) malformed: u64,
}

impl Ids {
    /// Reads an argument. Returns whether it has the name of an id.
    pub(super) fn argument(&mut self, key: &str, text: &str) -> bool {
        let is_read = match key {
            "trace_id" => read(&mut self.trace_id, bytes(text)),
            "span_id" => read(&mut self.span_id, bytes(text)),
            // A span without a caller.
            "parent_span_id" if text.is_empty() || text == "null" => true,
            "parent_span_id" => read(&mut self.parent, bytes(text)),
            "traceparent" => self.header(text).is_some(),
            "tracestate" => {
                self.state = Some(text.to_owned());
                true
            }
            _ => return false,
        };
        self.malformed += u64::from(!is_read);
        true
    }

    fn header(&mut self, text: &str) -> Option<()> {
        let (version, rest) = text.split_at_checked(2)?;
        let [version] = digits(version)?;
        let mut parts = rest.strip_prefix('-')?.split('-');
        let (trace_id, parent) = (bytes(parts.next()?)?, bytes(parts.next()?)?);
        let [flags] = digits(parts.next()?)?;
        if version == 0xff || (version == 0 && parts.next().is_some()) {
            return None;
        }
        self.trace_id.get_or_insert(trace_id);
        self.parent.get_or_insert(parent);
        self.flags = Some(flags);
        Some(())
    }

    /// Returns the context of a span in another one. `own` is what no other span has.
    pub(super) fn context(&self, around: Option<Context>, own: &[u8]) -> Option<Context> {
        let trace_id = self.trace_id.or(around.map(|around| around.trace_id))?;
        let around = around.filter(|around| around.trace_id == trace_id);
        let parent = self.parent.or(around.map(|around| around.span_id));
        let flags = self.flags.or(around.map(|around| around.flags)).unwrap_or(1);
        let span_id = self.span_id.unwrap_or_else(|| made(trace_id, own));
        Some(Context { trace_id, span_id, parent, flags })
    }
}

fn read<T>(place: &mut Option<T>, value: Option<T>) -> bool {
    let is_read = value.is_some();
    *place = value;
    is_read
}

/// Returns the id that digits are.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    digits(text).filter(|bytes: &[u8; N]| bytes.iter().any(|byte| *byte != 0))
}

/// Returns the bytes of lower-case hexadecimal digits.
fn digits<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text.len() != 2 * N || !text.bytes().all(is_digit) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// Returns the id of a span that has none.
fn made(trace_id: TraceId, own: &[u8]) -> SpanId {
    let hash = Sha256::new().chain_update(trace_id).chain_update(own).finalize();
    let mut id = [0; 8];
    id.iter_mut().zip(hash).for_each(|(byte, hashed)| *byte = hashed);
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    fn ids(arguments: &[(&str, &str)]) -> Ids {
        let mut ids = Ids::default();
        for (key, text) in arguments {
            assert!(ids.argument(key, text), "{key}");
        }
        ids
    }

    #[test]
    fn a_header_has_the_request_and_the_parent() {
        let header = format!("00-{TRACE}-{SPAN}-03");
        let of_header = ids(&[("traceparent", &header), ("tracestate", "a=1")]);
        let context = of_header.context(None, b"1").unwrap();
        assert_eq!(Some(context.trace_id), bytes(TRACE));
        assert_eq!((context.parent, context.flags), (bytes(SPAN), 3));
        assert_eq!(of_header.state.as_deref(), Some("a=1"));
        assert_ne!(context.span_id, of_header.context(None, b"2").unwrap().span_id);
        assert_eq!(context, of_header.context(None, b"1").unwrap());
    }

    #[test]
    fn a_span_in_another_one_is_its_child() {
        let around = ids(&[("trace_id", TRACE), ("span_id", SPAN), ("parent_span_id", "null")]);
        let around = around.context(None, b"").unwrap();
        assert_eq!(around.parent, None);
        let child = Ids::default().context(Some(around), b"x").unwrap();
        assert_eq!((child.trace_id, child.parent), (around.trace_id, bytes(SPAN)));
        let other = ids(&[("trace_id", &TRACE.replace('4', "5"))]).context(Some(around), b"x");
        assert_eq!(other.unwrap().parent, None, "of another request");
        assert_eq!(Ids::default().context(None, b"x"), None);
    }

    #[test]
    fn malformed_ids_are_counted() {
        let zero = "0".repeat(32);
        let upper = TRACE.to_uppercase();
        let long = format!("00-{TRACE}-{SPAN}-01-x");
        for (key, text) in [
            ("trace_id", &*zero),
            ("trace_id", &upper),
            ("trace_id", "12"),
            ("span_id", TRACE),
            ("parent_span_id", "é"),
            ("traceparent", ""),
            ("traceparent", &long),
            ("traceparent", "éé"),
        ] {
            assert_eq!(ids(&[(key, text)]).malformed, 1, "{key} {text}");
        }
        assert!(!Ids::default().argument("url", TRACE));
    }
}
