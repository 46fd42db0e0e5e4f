//! The macro for alerts.

/// Raises an alert, which the manager receives at once and may act on.
///
/// When the alert `slow` is raised, `trace record --trigger slow:snapshot` writes an archive of
/// everything recorded so far, `slow:stop` ends the recording, and `slow:exit` also ends the
/// program. Without a trigger, the summary lists the alerts.
///
/// The name is a literal of 1 to 14 bytes. With a category before it, the alert is raised only
/// while the category is recorded; without one, while anything is recorded.
///
/// ```
/// use trace_runtime::trace_alert;
///
/// fn answer(milliseconds: u64) {
///     if milliseconds > 100 {
///         trace_alert!("slow");
///     }
///     if milliseconds > 1000 {
///         trace_alert!("net", "very slow");
///     }
/// }
/// ```
///
/// ```compile_fail
/// trace_runtime::trace_alert!("fifteen bytes!!");
/// ```
///
/// Async-signal-safe. Every raise of an alert arrives. The order of different alerts is not
/// preserved. At most 5,000 alerts are sent in a tenth of a second, and the rest later. Records
/// that this thread wrote earlier are in the buffer when the alert arrives.
///
/// Costs one system call while recorded, which wakes the service thread, else one load and a
/// branch. Without a manager (`TRACE_OUTPUT`), alerts are dropped.
#[macro_export]
macro_rules! trace_alert {
    ($name:literal $(,)?) => {
        $crate::__trace_alert!("", $name)
    };
    ($category:literal, $name:literal $(,)?) => {
        $crate::__trace_alert!($category, $name)
    };
    ($($wrong:tt)*) => {
        $crate::__trace_expected!(alert)
    };
}

/// Raises an alert of a category, which may be empty.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_alert {
    ($category:literal, $name:literal) => {{
        #[used]
        #[link_section = "trace_sites"]
        static __TRACE_SITE: $crate::__private::Site =
            $crate::__private::Site::category_check($category);
        #[used]
        #[link_section = "trace_alerts"]
        static __TRACE_ALERT: $crate::__private::Alert = $crate::__private::Alert::new($name);
        if $crate::__private::Site::is_on(&__TRACE_SITE) {
            $crate::__private::Alert::raise(&__TRACE_ALERT);
        }
    }};
}
