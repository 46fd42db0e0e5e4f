//! The recorder of this process, and what its trace points share with the service thread.

use std::ops::Deref;

use trace_protocol::buffer::producer::Recorder;
use trace_provider::Engine;

use crate::nonce::Nonces;
use crate::sys;

/// The recorder of this process, on pages of its own that the kernel wipes in forked children.
///
/// A child so finds a recorder that records nothing, from its first instruction on, and can't write
/// to its parent's buffer.
pub(crate) static RECORDER: OwnPages = OwnPages(Recorder::new(), Nonces::new());

/// What trace points share with the service thread beside the recorder.
pub(crate) static ENGINE: Engine = Engine::new(&RECORDER.0);

/// The largest page of Linux on this architecture, so that nothing else is on these.
#[cfg_attr(target_arch = "x86_64", repr(C, align(4096)))]
#[cfg_attr(not(target_arch = "x86_64"), repr(C, align(65536)))]
#[derive(Debug)]
pub(crate) struct OwnPages(Recorder, Nonces);

impl Deref for OwnPages {
    type Target = Recorder;

    #[inline(always)]
    fn deref(&self) -> &Recorder {
        &self.0
    }
}

impl OwnPages {
    /// The ids of this process.
    #[inline(always)]
    pub(crate) fn nonces(&self) -> &Nonces {
        &self.1
    }

    /// Has the kernel wipe the recorder in forked children, where it can (Linux 4.14). Elsewhere
    /// the fork handler alone does.
    pub(crate) fn wipe_on_fork(&'static self) {
        sys::wipe_on_fork(self);
    }
}

/// Whether anything is being recorded.
#[inline(always)]
pub fn is_recording() -> bool {
    RECORDER.is_recording()
}

/// Whether `category` is being recorded.
pub fn is_category_enabled(category: &str) -> bool {
    ENGINE.is_category_enabled(category)
}

/// A number that is unique on this machine as far as chance goes, and not 0. Works in signal
/// handlers.
#[inline]
pub fn nonce() -> u64 {
    RECORDER.nonces().next(before_nonces)
}

/// Draws the start of this process's nonces, which makes system calls, before a traced thread asks
/// for a number.
pub(crate) fn prepare_nonces() {
    RECORDER.nonces().start(before_nonces);
}

fn before_nonces() {
    RECORDER.wipe_on_fork();
}
