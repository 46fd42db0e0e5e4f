//! Macros that name threads and the process.

/// Names this thread in the trace, instead of by the kernel's name, which has at most 15 bytes.
///
/// The name is used in this and in later recordings, as long as the thread lives. A circular buffer
/// does not overwrite it. The name is any `AsRef<str>`, cut to 1,000 bytes. The kernel's name of
/// the thread does not change.
///
/// ```
/// use trace_runtime::trace_thread_name;
///
/// trace_thread_name!("decoder of the second camera");
/// ```
///
/// Takes a lock, allocates and makes a system call, even while nothing is recorded. Not
/// async-signal-safe. A forked child does not inherit the name.
#[macro_export]
macro_rules! trace_thread_name {
    ($name:expr $(,)?) => {
        $crate::__private::name_thread($crate::__private::text(&$name))
    };
}

/// Names this process in the trace.
///
/// The name is used in this and in later recordings. A circular buffer does not overwrite it. The
/// name is any `AsRef<str>`, cut to 1,000 bytes.
///
/// ```
/// use trace_runtime::trace_process_name;
///
/// trace_process_name!(format!("worker {}", 3));
/// ```
///
/// Takes a lock and allocates, even while nothing is recorded. Not async-signal-safe. A forked
/// child does not inherit the name.
#[macro_export]
macro_rules! trace_process_name {
    ($name:expr $(,)?) => {
        $crate::__private::name_process($crate::__private::text(&$name))
    };
}
