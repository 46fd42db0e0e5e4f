//! The id of the calling thread, without a system call.
//!
//! A trace point makes no system call, not even a thread's first one. An error-checking mutex has
//! to know which thread holds it, and the C libraries for Linux keep that thread's id among the
//! first words of the mutex. Which of them it is, is found out once, by comparing with what the
//! kernel says; where it can't be found, the kernel is asked each time.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bits of a word that hold the id; the others may say that somebody waits (`FUTEX_TID_MASK`).
const ID_BITS: u32 = 0x3fff_ffff;

/// The words of a mutex that are looked at.
const WORDS: usize = 4;

/// Index of the owner's word; [`WORDS`] where it is not known.
static OWNER_WORD: AtomicUsize = AtomicUsize::new(WORDS);

/// The words that may hold a thread's id, as one thread has found them.
pub type Candidates = [bool; WORDS];

/// Which words hold the id of the calling thread.
pub fn candidates() -> Candidates {
    let asked = ask_kernel();
    words_of_locked_mutex()
        .map_or([false; WORDS], |words| words.map(|word| word & ID_BITS == asked))
}

/// Settles on the owner's word: one that holds the id of the calling thread, and held that of the
/// thread which found `others`. One thread's id may by chance be equal to another word, as 1 is.
/// Called before the first session.
pub fn agree(others: Candidates) {
    let own = candidates();
    let index = (0..WORDS).find(|index| own[*index] && others[*index]);
    OWNER_WORD.store(index.unwrap_or(WORDS), Ordering::Relaxed);
}

/// The id of the calling thread, as Linux numbers threads.
pub fn current() -> u32 {
    let index = OWNER_WORD.load(Ordering::Relaxed);
    if index < WORDS {
        if let Some(word) = words_of_locked_mutex().as_ref().and_then(|words| words.get(index)) {
            return word & ID_BITS;
        }
    }
    ask_kernel()
}

/// The id of the calling thread, by a system call.
pub fn ask_kernel() -> u32 {
    // SAFETY: gettid takes nothing and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// The first words of an error-checking mutex of our own while the calling thread holds it.
#[cfg(not(miri))]
fn words_of_locked_mutex() -> Option<[u32; WORDS]> {
    let mut attributes = MaybeUninit::<libc::pthread_mutexattr_t>::uninit();
    let mut mutex = MaybeUninit::<libc::pthread_mutex_t>::uninit();
    // SAFETY: a valid place for the attributes, which the call makes.
    let made = unsafe { libc::pthread_mutexattr_init(attributes.as_mut_ptr()) } == 0;
    // SAFETY: the attributes were made just above, as the condition says.
    let typed = made
        && unsafe {
            libc::pthread_mutexattr_settype(attributes.as_mut_ptr(), libc::PTHREAD_MUTEX_ERRORCHECK)
        } == 0;
    // SAFETY: as above; the mutex is a valid place for what the call makes.
    let ready =
        typed && unsafe { libc::pthread_mutex_init(mutex.as_mut_ptr(), attributes.as_ptr()) } == 0;
    // SAFETY: the mutex was made, is known to this thread only and so free: locking it neither
    // waits nor makes a system call.
    if !ready || unsafe { libc::pthread_mutex_lock(mutex.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: a mutex is larger than four words, aligned for them, and was initialised above; all
    // bit patterns are valid.
    let words = unsafe { mutex.as_ptr().cast::<[u32; WORDS]>().read() };
    // SAFETY: this thread holds the mutex; nobody waits for it.
    unsafe { libc::pthread_mutex_unlock(mutex.as_mut_ptr()) };
    Some(words)
}

#[cfg(miri)]
fn words_of_locked_mutex() -> Option<[u32; WORDS]> {
    None
}

const _: () = assert!(size_of::<libc::pthread_mutex_t>() >= size_of::<[u32; WORDS]>());
const _: () = assert!(align_of::<libc::pthread_mutex_t>() >= align_of::<u32>());

#[cfg(test)]
mod tests {
    use super::*;

    fn prepare() {
        agree(std::thread::spawn(candidates).join().unwrap());
    }

    /// Without agreement the kernel is asked.
    #[test]
    fn a_word_on_which_threads_differ_is_not_taken() {
        agree([false; WORDS]);
        assert_eq!(current(), ask_kernel());
        prepare();
    }

    #[test]
    fn every_thread_knows_its_id() {
        prepare();
        for _ in 0..4 {
            std::thread::spawn(|| assert_eq!(current(), ask_kernel())).join().unwrap();
        }
        assert_eq!(current(), ask_kernel());
    }

    #[test]
    #[cfg(all(target_env = "gnu", not(miri)))]
    fn no_system_call_is_needed_with_glibc() {
        prepare();
        assert!(OWNER_WORD.load(Ordering::Relaxed) < WORDS);
    }
}
