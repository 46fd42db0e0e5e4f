//! Names of threads and of the process.

/// Names this thread in the trace, in place of the 15 bytes that the kernel keeps of a thread's
/// name.
///
/// It counts for this recording and for later ones, as long as the thread lives, and survives in a
/// circular buffer. The name is what derefs to a text, cut after 1,000 bytes. The thread's own name
/// in the system stays what it is.
///
/// ```
/// use trace_runtime::trace_thread_name;
///
/// trace_thread_name!("decoder of the second camera");
/// ```
///
/// Takes a lock, allocates and makes a system call, also while nothing is recorded: not for signal
/// handlers. A forked child's thread has no name of its own before it is named again.
#[macro_export]
macro_rules! trace_thread_name {
    ($name:expr $(,)?) => {
        $crate::__private::name_thread($crate::__private::text(&$name))
    };
}

/// Names this process in the trace.
///
/// It counts for this recording and for later ones, and survives in a circular buffer. The name is
/// cut after 1,000 bytes.
///
/// ```
/// use trace_runtime::trace_process_name;
///
/// trace_process_name!(format!("worker {}", 3));
/// ```
///
/// Takes a lock and allocates, also while nothing is recorded: not for signal handlers. A forked
/// child has no such name before it is named again.
#[macro_export]
macro_rules! trace_process_name {
    ($name:expr $(,)?) => {
        $crate::__private::name_process($crate::__private::text(&$name))
    };
}
