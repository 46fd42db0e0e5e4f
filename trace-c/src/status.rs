//! The status of this process, and messages for its user.

use std::ffi::{c_char, CString};
use std::mem::transmute;
use std::ptr::null_mut;
use std::slice;
use std::sync::atomic::{AtomicPtr, Ordering};

use trace_runtime::NotTraced;

use crate::contain::contain;
use crate::guard;

/// A function of the program that receives messages. It must not throw.
type OnMessage = unsafe extern "C" fn(*const c_char);

/// The function that receives messages, or null. Rules: stored by [`trace_on_message`] only.
static ON_MESSAGE: AtomicPtr<()> = AtomicPtr::new(null_mut());

fn on_message() -> Option<OnMessage> {
    let function = ON_MESSAGE.load(Ordering::Acquire);
    // SAFETY: by the rules of `ON_MESSAGE` it is null, which is `None`, or a function of this type.
    unsafe { transmute::<*mut (), Option<OnMessage>>(function) }
}

/// The values of `enum trace_status_code`.
const PROVIDER: u32 = 0;
const NOT_BEGUN: u32 = 1;
const OTHER: u32 = 7;

fn code(reason: &NotTraced) -> u32 {
    match reason {
        NotTraced::Start(_) => 2,
        NotTraced::Descriptors(_) => 3,
        NotTraced::ManagerUser { .. } => 4,
        NotTraced::Manager { .. } => 5,
        NotTraced::Output { .. } => 6,
        _ => OTHER,
    }
}

/// Returns the reason why this process is not traced as a code, and stores it as text.
///
/// # Safety
/// `reason` is null, or `size` bytes can be written there.
#[no_mangle]
pub unsafe extern "C" fn trace_status(reason: *mut c_char, size: usize) -> u32 {
    let (code, words) = contain((OTHER, String::new()), || match guard::status() {
        None => (NOT_BEGUN, "this process has not called trace_init()".to_owned()),
        Some(Ok(())) => (PROVIDER, String::new()),
        Some(Err(reason)) => (code(&reason), reason.to_string()),
    });
    if !reason.is_null() && size > 0 {
        // SAFETY: by the contract.
        let room = unsafe { slice::from_raw_parts_mut(reason.cast::<u8>(), size) };
        store(&words, room);
    }
    code
}

/// Stores a text that ends with a zero, cut between characters.
fn store(text: &str, room: &mut [u8]) {
    let most = room.len() - 1;
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    let text = &text.as_bytes()[..end.unwrap_or(0)];
    room[..text.len()].copy_from_slice(text);
    room[text.len()] = 0;
}

/// Sets a function that receives messages for the program's user.
///
/// # Safety
/// The function can be called on any thread, and does not throw.
#[no_mangle]
pub unsafe extern "C" fn trace_on_message(function: Option<OnMessage>) {
    let function = function.map_or(null_mut(), |function| function as *mut ());
    ON_MESSAGE.store(function, Ordering::Release);
}

/// Returns whether the program receives messages.
pub(crate) fn has_function() -> bool {
    on_message().is_some()
}

/// Passes a message to the program.
pub(crate) fn forward(message: &str) {
    let message = CString::new(message.replace('\0', "?"));
    if let (Some(function), Ok(message)) = (on_message(), message) {
        // SAFETY: by the contract of `trace_on_message`; the text ends with a zero.
        unsafe { function(message.as_ptr()) };
    }
}

/// Functions that the header declares.
pub(crate) struct Exported {
    _status: unsafe extern "C" fn(*mut c_char, usize) -> u32,
    _on_message: unsafe extern "C" fn(Option<OnMessage>),
}

pub(crate) const EXPORTED: Exported =
    Exported { _status: trace_status, _on_message: trace_on_message };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        for (text, size, stored) in [
            ("abc", 4, &b"abc\0"[..]),
            ("abc", 3, b"ab\0"),
            ("a\u{20ac}", 4, b"a\0xx"),
            ("a\u{20ac}", 5, b"a\xe2\x82\xac\0"),
            ("abc", 1, b"\0"),
            ("", 2, b"\0x"),
        ] {
            let mut room = vec![b'x'; size];
            store(text, &mut room);
            assert_eq!(room, stored, "{text} {size}");
        }
    }
}
