//! Bulk data.

/// Records data of a [`BlobType`](crate::BlobType), while anything is recorded.
///
/// ```
/// use trace_runtime::{trace_blob, BlobType};
///
/// trace_blob!(BlobType::DATA, "screenshot", [0x89, b'P', b'N', b'G']);
/// ```
///
/// The data are what is `AsRef<[u8]>`. They have no category, no time and no thread. Up to 32,000
/// bytes are one record; more are split into records of the same name, one behind the other, which
/// readers append. Where another thread records under the same name at the same time, use
/// [`trace_blob_event!`](crate::trace_blob_event), whose parts have numbers. A part that finds no
/// room is told as lost.
///
/// Costs one copy of the data, and no allocation.
#[macro_export]
macro_rules! trace_blob {
    ($type:expr, $name:literal, $bytes:expr $(,)?) => {
        $crate::__trace_named!(__trace_blob, [$type,], "", $name, $bytes)
    };
    ($type:expr, $name:expr, $bytes:expr $(,)?) => {
        $crate::__trace_named!(__trace_blob, [$type,], "", $name, $bytes)
    };
}

/// Records data with a moment, this thread and up to 13 arguments.
///
/// ```
/// use trace_runtime::trace_blob_event;
///
/// let request = b"GET / HTTP/1.1\r\n\r\n";
/// trace_blob_event!("net", "request", request, "connection" => 7u32);
/// ```
///
/// It is a large record of the format, of 32,760 bytes at most, since that is what readers get
/// over. Larger data are split into records with the same names, thread, time and arguments, and
/// two arguments more: `part`, from 1 on, and `parts`, how many there are. A part that finds no
/// room is told as lost.
///
/// Costs one read of the clock and one copy of the data, and no allocation.
#[macro_export]
macro_rules! trace_blob_event {
    ($($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_blob_event, [], $($trace_point)*)
    };
}

/// Records data with a category and a name, and nothing else.
///
/// ```
/// use trace_runtime::trace_blob_attachment;
///
/// trace_blob_attachment!("app", "configuration", "threads = 4");
/// ```
///
/// It is a large record of the format, of 32,760 bytes at most, since that is what readers get
/// over. Larger data are split into records with the category and names such as `configuration
/// (2/3)`. A part that finds no room is told as lost.
///
/// Costs one copy of the data; allocates only for parts with long names.
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
