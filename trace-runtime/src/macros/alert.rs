//! The macro for alerts.

/// Raises an alert: the manager learns of it at once, and may act on it.
///
/// `trace record --trigger slow:snapshot` writes what has been recorded so far when the alert
/// `slow` is raised, `slow:stop` ends the recording, and `slow:exit` ends the program as well.
/// Without a trigger, alerts are listed in the summary.
///
/// The name has 1 to 14 bytes. With a category before it, the alert is raised only while that is
/// recorded; without one, while anything is.
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
/// Works in signal handlers. An alert that is raised several times arrives as often, in any order
/// with other alerts; of more than 5,000 in a tenth of a second the others wait. Records that this
/// thread wrote before it are in the buffer when the alert arrives.
///
/// Costs one system call while recorded, which wakes the thread that sends it, and one load and a
/// branch while not. Without a manager (`TRACE_OUTPUT`) nobody is told.
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

/// An alert of a category, which may be empty.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_alert {
    ($category:literal, $name:literal) => {{
        #[used]
        #[link_section = "trace_sites"]
        static __TRACE_SITE: $crate::__private::Site = $crate::__private::Site::question($category);
        #[used]
        #[link_section = "trace_alerts"]
        static __TRACE_ALERT: $crate::__private::Alert = $crate::__private::Alert::new($name);
        if $crate::__private::Site::is_on(&__TRACE_SITE) {
            $crate::__private::Alert::raise(&__TRACE_ALERT);
        }
    }};
}
