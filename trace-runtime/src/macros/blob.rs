//! Macros for bulk data.

/// Records a blob of a [`BlobType`](crate::BlobType), while anything is recorded.
///
/// ```
/// use trace_runtime::{trace_blob, BlobType};
///
/// trace_blob!(BlobType::DATA, "screenshot", [0x89, b'P', b'N', b'G']);
/// ```
///
/// The data are any `AsRef<[u8]>`. A blob has no category, time or thread. Fewer than
/// 32,000 bytes are one record. Larger data are split into records of the same name, which readers
/// concatenate, up to the first that is not full (possibly empty). If
/// several threads record blobs of the same name at once, use
/// [`trace_blob_event!`](crate::trace_blob_event), which numbers its parts. If the buffer is full,
/// a part is dropped, and the trace reports it.
///
/// Costs one copy of the data. Does not allocate.
#[macro_export]
macro_rules! trace_blob {
    ($type:expr, $name:literal, $bytes:expr $(,)?) => {
        $crate::__trace_named!(__trace_blob, [$type,], "", $name, $bytes)
    };
    ($type:expr, $name:expr, $bytes:expr $(,)?) => {
        $crate::__trace_named!(__trace_blob, [$type,], "", $name, $bytes)
    };
}

/// Records a blob event: data with the time, this thread and up to 13 arguments.
///
/// ```
/// use trace_runtime::trace_blob_event;
///
/// let request = b"GET / HTTP/1.1\r\n\r\n";
/// trace_blob_event!("net", "request", request, "connection" => 7u32);
/// ```
///
/// A record has at most 32,760 bytes, because some readers fail after a larger one. Larger data are
/// split into records with the same names, thread, time and arguments, and two more arguments:
/// `part`, from 1, and `parts`, their number. If the buffer is full, a part is dropped, and the
/// trace reports it.
///
/// Costs one clock read and one copy of the data. Does not allocate.
#[macro_export]
macro_rules! trace_blob_event {
    ($($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_blob_event, [], $($trace_point)*)
    };
}

/// Records a blob attachment: data with only a category and a name.
///
/// ```
/// use trace_runtime::trace_blob_attachment;
///
/// trace_blob_attachment!("app", "configuration", "threads = 4");
/// ```
///
/// A record has at most 32,760 bytes, because some readers fail after a larger one. Larger data are
/// split into records with the same category, and names such as `configuration (2/3)`. If the
/// buffer is full, a part is dropped, and the trace reports it.
///
/// Costs one copy of the data. Allocates only for parts with long names.
#[macro_export]
macro_rules! trace_blob_attachment {
    ($($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_blob_attachment, [], $($trace_point)*)
    };
}

/// Writes a blob: `type, (category, name), names, bytes`.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_blob {
    ($type:expr, $site:tt, $names:expr, $bytes:expr $(,)?) => {
        $crate::__trace_site!(
            Instant,
            $site,
            $names,
            [],
            |__TRACE_SITE, __TRACE_KEYS, names| $crate::__private::blob(
                &__TRACE_SITE,
                $type,
                names,
                $crate::__private::bytes(&$bytes),
            ),
            ()
        )
    };
}

/// Writes a blob event: `(category, name), names, bytes, key => value, …`.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_blob_event {
    ($site:tt, $names:expr, $bytes:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_site!(
            Instant,
            $site,
            $names,
            [$($key,)* "part", "parts"],
            |__TRACE_SITE, __TRACE_KEYS, names| $crate::__private::blob_event(
                &__TRACE_SITE,
                &__TRACE_KEYS,
                names,
                $crate::__trace_arguments!($($value),*),
                $crate::__private::bytes(&$bytes),
            ),
            ()
        )
    };
    ($site:tt, $names:expr, $bytes:expr, $($rest:tt)+) => {
        $crate::__trace_formatted!(__trace_blob_event, bytes, none, [$site, $names, $bytes,] $($rest)+)
    };
    ($($wrong:tt)*) => {
        $crate::__trace_expected!(bytes)
    };
}

/// Writes a blob attachment: `(category, name), names, bytes`.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_blob_attachment {
    (($category:expr, $name:expr), $names:expr, $bytes:expr $(,)?) => {
        $crate::__trace_site!(
            Instant,
            ($category, $name),
            $names,
            [],
            |__TRACE_SITE, __TRACE_KEYS, names| $crate::__private::blob_attachment(
                &__TRACE_SITE,
                $name,
                names,
                $crate::__private::bytes(&$bytes),
            ),
            ()
        )
    };
    ($($wrong:tt)*) => {
        $crate::__trace_expected!(attachment)
    };
}
