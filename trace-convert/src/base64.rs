//! Base64 of RFC 4648, section 4.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns the digits of up to 3 bytes, with padding.
#[inline]
pub(crate) fn digits(group: &[u8]) -> [u8; 4] {
    let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
    let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
    let digit = |at: u32| DIGITS[(bits >> (18 - 6 * at)) as usize & 63];
    let mut digits = [digit(0), digit(1), digit(2), digit(3)];
    digits[(group.len() + 1).min(4)..].fill(b'=');
    digits
}
