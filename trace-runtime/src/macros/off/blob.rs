//! Macros for bulk data, objects and log messages, compiled out.

/// Type-checks a blob.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_blob {
    ($type:expr, $name:expr, $bytes:expr $(,)?) => {
        if false {
            let _: $crate::BlobType = $type;
            $crate::__ntrace_blob_event!("", $name, $bytes);
        }
    };
}

/// Type-checks a blob event.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_blob_event {
    ($category:expr, $name:expr, $bytes:expr $(, $key:expr => $value:expr)* $(,)?) => {
        if false {
            let _: &[::core::primitive::u8] = ::core::convert::AsRef::as_ref(&$bytes);
            $crate::__ntrace_unused!($category, $name, [] $(, $key => $value)*);
        }
    };
    ($category:expr, $name:expr, $bytes:expr, $($rest:tt)+) => {
        $crate::__trace_formatted!(__ntrace_blob_event, bytes, none, [$category, $name, $bytes,] $($rest)+)
    };
    ($category:expr, $name:expr $(, $($wrong:tt)*)?) => {
        $crate::__trace_expected!(bytes)
    };
    ($($wrong:tt)*) => {
        $crate::__trace_expected!(names)
    };
}

/// Type-checks a blob attachment.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_blob_attachment {
    ($category:expr, $name:expr, $bytes:expr $(,)?) => {
        $crate::__ntrace_blob_event!($category, $name, $bytes)
    };
    ($category:expr, $name:expr $(, $($wrong:tt)*)?) => {
        $crate::__trace_expected!(attachment)
    };
    ($($wrong:tt)*) => {
        $crate::__trace_expected!(names)
    };
}

/// Type-checks an object of this process.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_userspace_object {
    ($pointer:expr, $name:expr $(, $key:expr => $value:expr)* $(,)?) => {
        if false {
            let _ = $crate::ArgValue::arg(&$pointer);
            $crate::__ntrace_unused!("", $name, [] $(, $key => $value)*);
        }
    };
    ($pointer:expr, $name:expr, $($rest:tt)+) => {
        $crate::__trace_formatted!(__ntrace_userspace_object, arguments, none, [$pointer, $name,] $($rest)+)
    };
}

/// Type-checks a kernel object.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_kernel_object {
    ($koid:expr, $type:expr, $name:expr $(, $key:expr => $value:expr)* $(,)?) => {
        if false {
            let _: $crate::ObjectType = $type;
            $crate::__ntrace_unused!("", $name, [$koid => ::core::primitive::u64] $(, $key => $value)*);
        }
    };
    ($koid:expr, $type:expr, $name:expr, $($rest:tt)+) => {
        $crate::__trace_formatted!(__ntrace_kernel_object, arguments, none, [$koid, $type, $name,] $($rest)+)
    };
}

/// Type-checks a log message.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_log {
    ($category:expr, $($format:tt)+) => {
        if false {
            let _ = ::core::format_args!($($format)+);
            $crate::__ntrace_unused!($category, "", []);
        }
    };
    ($($wrong:tt)*) => {
        $crate::__trace_expected!(log)
    };
}
