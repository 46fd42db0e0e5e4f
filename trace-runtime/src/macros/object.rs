//! Objects of the application and of the kernel, and the log.

/// Says what is at an address of this process, while anything is recorded: viewers can show it
/// where a pointer is an argument.
///
/// ```
/// use trace_runtime::{trace_instant, trace_userspace_object};
///
/// let window = Box::new(0u32);
/// trace_userspace_object!(&raw const *window, "main window", "width" => 640u32);
/// trace_instant!("ui", "redraw", "window" => &raw const *window);
/// ```
///
/// The pointer is a raw one, or a [`Pointer`](crate::Pointer). The record is in the buffer of
/// events, so that a circular buffer may overwrite it. Costs one load while nothing is recorded.
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

/// Says what an id of the kernel's stands for, while anything is recorded.
///
/// ```
/// use trace_runtime::{trace_kernel_object, ObjectType};
///
/// // Numbers of types other than processes and threads are the application's.
/// trace_kernel_object!(7, ObjectType(100), "socket", "port" => 80u32);
/// ```
///
/// A provider names itself, and not others. An object of type
/// [`ObjectType::PROCESS`](crate::ObjectType) with another process's id is refused, and counted in
/// the trace. An object of type [`ObjectType::THREAD`](crate::ObjectType) is always of the process
/// that the record came from: the collector puts it into the koids that are its arguments, or adds
/// an argument `process`. To name threads, tracks and the process
/// use [`trace_thread_name!`](crate::trace_thread_name), [`Track`](crate::Track) and
/// [`trace_process_name!`](crate::trace_process_name), whose names no circular buffer overwrites,
/// as it may this record. Costs one load while nothing is recorded.
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

/// Writes to the log in the trace, formatted as by [`format!`], while a category is recorded.
///
/// ```
/// use trace_runtime::trace_log;
///
/// let path = "/etc/app.conf";
/// trace_log!("app", "{path} has {} lines", 12);
/// ```
///
/// The category comes first, unlike in `println!`: `trace_log!("{} lines", 12)` takes the text for
/// one, and then says that 12 is no format.
///
/// The message is formatted only while the category is recorded, up to 256 bytes of it without
/// allocating; up to 32,000 bytes are recorded, cut at a character. A log record has a time and a
/// thread; of the category it keeps nothing. Some viewers, as Perfetto, leave log records out:
/// [`trace_instant!`](crate::trace_instant) shows there.
///
/// Costs one read of the clock and what formatting costs while recorded.
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

/// Writes to the log: `(category, name), names, format, …`.
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
