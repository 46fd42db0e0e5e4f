//! Macros for objects of the application and of the kernel, and for log messages.

/// Records the name of an object at an address of this process, while anything is recorded. Viewers
/// can show the name for a pointer argument.
///
/// ```
/// use trace_runtime::{trace_instant, trace_userspace_object};
///
/// let window = Box::new(0u32);
/// trace_userspace_object!(&raw const *window, "main window", "width" => 640u32);
/// trace_instant!("ui", "redraw", "window" => &raw const *window);
/// ```
///
/// The pointer is a raw pointer or a [`Pointer`](crate::Pointer). A circular buffer may overwrite
/// the record. Costs no clock read, and one load while nothing is recorded.
#[macro_export]
macro_rules! trace_userspace_object {
    ($pointer:expr, $name:literal $($arguments:tt)*) => {
        $crate::__trace_named!(
            __trace_object, [$crate::__private::userspace(&$pointer),], "", $name $($arguments)*
        )
    };
    ($pointer:expr, $name:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_named!(
            __trace_object, [$crate::__private::userspace(&$pointer),], "", $name $(, $key => $value)*
        )
    };
    ($pointer:expr, $name:expr, $($rest:tt)+) => {
        $crate::__trace_formatted!(trace_userspace_object, arguments, none, [$pointer, $name,] $($rest)+)
    };
}

/// Records the name of a kernel object, while anything is recorded.
///
/// ```
/// use trace_runtime::{trace_kernel_object, ObjectType};
///
/// // The application defines the numbers of types other than processes and threads.
/// trace_kernel_object!(7, ObjectType(100), "socket", "port" => 80u32);
/// ```
///
/// A provider can only name objects of its own process:
///
/// - An object of type [`ObjectType::PROCESS`](crate::ObjectType) with the id of another process is
///   refused, and counted in the trace.
/// - An object of type [`ObjectType::THREAD`](crate::ObjectType) belongs to the provider's process.
///   The manager sets the process in the koids among its arguments, or adds an argument `process`.
///
/// To name threads, tracks and the process, use [`trace_thread_name!`](crate::trace_thread_name),
/// [`Track`](crate::Track) and [`trace_process_name!`](crate::trace_process_name): a circular
/// buffer may overwrite this record, but not those names. Costs no clock read, and one load while
/// nothing is recorded.
#[macro_export]
macro_rules! trace_kernel_object {
    ($koid:expr, $type:expr, $name:literal $($arguments:tt)*) => {
        $crate::__trace_named!(
            __trace_object, [$crate::__private::Object::Kernel($type, $koid),], "", $name $($arguments)*
        )
    };
    ($koid:expr, $type:expr, $name:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_named!(
            __trace_object, [$crate::__private::Object::Kernel($type, $koid),], "", $name $(, $key => $value)*
        )
    };
    ($koid:expr, $type:expr, $name:expr, $($rest:tt)+) => {
        $crate::__trace_formatted!(trace_kernel_object, arguments, none, [$koid, $type, $name,] $($rest)+)
    };
}

/// Records a log message, formatted like [`format!`], while a category is recorded.
///
/// ```
/// use trace_runtime::trace_log;
///
/// let path = "/etc/app.conf";
/// trace_log!("app", "{path} has {} lines", 12);
/// ```
///
/// The category comes first: `trace_log!("{} lines", 12)` uses the text as the category, and fails
/// because 12 is not a format string.
///
/// The message is formatted only while the category is recorded. Up to 256 bytes are formatted
/// without an allocation. Up to 32,000 bytes are recorded, cut at a character.
///
/// A log record has a time and a thread, but no category. Some viewers, such as Perfetto, do not
/// show log records: use [`trace_instant!`](crate::trace_instant) there.
///
/// Costs one clock read and the formatting while recorded.
#[macro_export]
macro_rules! trace_log {
    ($category:literal, $($format:tt)+) => {
        $crate::__trace_named!(__trace_log, [], $category, "", $($format)+)
    };
    ($category:expr, $($format:tt)+) => {
        $crate::__trace_named!(__trace_log, [], $category, "", $($format)+)
    };
    ($($wrong:tt)*) => {
        $crate::__trace_expected!(log)
    };
}

/// Writes an object: `object, (category, name), names, key => value, …`.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_object {
    ($object:expr, $site:tt, $names:expr, $($key:expr => $value:expr),* $(,)?) => {
        $crate::__trace_site!(
            Instant,
            $site,
            $names,
            [$($key),*],
            |__TRACE_SITE, __TRACE_KEYS, names| $crate::__private::object(
                &__TRACE_SITE,
                &__TRACE_KEYS,
                $object,
                names,
                $crate::__trace_arguments!($($value),*),
            ),
            ()
        )
    };
    ($object:expr, $site:tt, $names:expr, $($rest:tt)+) => {
        $crate::__trace_formatted!(__trace_object, arguments, none, [$object, $site, $names,] $($rest)+)
    };
}

/// Writes a log record: `(category, name), names, format, …`.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_log {
    ($site:tt, $names:expr, $($format:tt)+) => {
        $crate::__trace_site!(
            Instant,
            $site,
            $names,
            [],
            |__TRACE_SITE, __TRACE_KEYS, names| $crate::__private::log(
                &__TRACE_SITE,
                ::core::format_args!($($format)+),
            ),
            ()
        )
    };
}
