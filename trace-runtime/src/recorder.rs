//! The recorder of this process.

use std::ops::Deref;

use trace_protocol::buffer::producer::Recorder;

use crate::nonce::Nonces;

/// The recorder of this process, on pages of its own that the kernel wipes in forked children.
///
/// A child so finds a recorder that records nothing, from its first instruction on, and can't write
/// to its parent's buffer.
pub(crate) static RECORDER: OwnPages = OwnPages(Recorder::new(), Nonces::new());

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
    pub(crate) fn wipe_on_fork(&self) {
        let start = std::ptr::from_ref(self).cast_mut().cast();
        // SAFETY: the range is this static's, whole pages by its alignment; the advice changes
        // nothing in this process.
        unsafe { libc::madvise(start, size_of::<Self>(), libc::MADV_WIPEONFORK) };
    }
}

/// Whether anything is being recorded.
#[inline(always)]
pub fn is_recording() -> bool {
    RECORDER.is_recording()
}
