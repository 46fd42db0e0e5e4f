//! What the macros of trace points have in common. Nothing here is for use by itself.

/// Evaluates a macro's body with the site and the keys of a trace point, if its category is on.
///
/// `$names` is how category and name reach the record, `$otherwise` the value of a trace point that is off.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_site {
    ($event:ident, $category:expr, $name:expr, [$($key:expr),*], |$site:ident, $keys:ident| $body:expr, $otherwise:expr) => {{
        const __TRACE_KEY_COUNT: usize = <[&str]>::len(&[$($key),*]);
        const {
            assert!(__TRACE_KEY_COUNT <= 15, "a trace point has at most 15 arguments");
        }
        static $keys: [$crate::__private::Key; __TRACE_KEY_COUNT] = [$($crate::__private::Key::new($key)),*];
        // Used: it is stored to where the compiler does not see it, through the section.
        #[used]
        #[link_section = "trace_sites"]
        static $site: $crate::__private::Site =
            $crate::__private::Site::event($crate::__private::EventType::$event, $category, $name, &$keys);
        if $site.is_on() {
            $body
        } else {
            $otherwise
        }
    }};
}

/// The arguments' values as nested pairs.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_arguments {
    () => { () };
    ($value:expr $(, $rest:expr)*) => {
        ($crate::ArgValue::arg(&$value), $crate::__trace_arguments!($($rest),*))
    };
}

/// Writes an event: `event type, (category, name), names, [trailing words], key => value, …`.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_event {
    ($event:ident, ($category:expr, $name:expr), $names:expr, [$($tail:expr)?] $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_site!(
            $event,
            $category,
            $name,
            [$($key),*],
            |__TRACE_SITE, __TRACE_KEYS| $crate::__private::event(
                &__TRACE_SITE,
                &__TRACE_KEYS,
                $names,
                $crate::__trace_arguments!($($value),*),
                [$($tail)?],
            ),
            ()
        )
    };
}

/// Begins a duration whose names are literals, without arguments.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_begin_plain {
    ($category:expr, $name:expr) => {
        $crate::__trace_site!(
            DurationBegin,
            $category,
            $name,
            [],
            |__TRACE_SITE, __TRACE_KEYS| $crate::__private::begin_plain(&__TRACE_SITE),
            $crate::DurationScope::NOT_RECORDED
        )
    };
}

/// Begins a duration: `(category, name), names, key => value, …`.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_begin {
    (($category:expr, $name:expr), $names:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_site!(
            DurationBegin,
            $category,
            $name,
            [$($key),*],
            |__TRACE_SITE, __TRACE_KEYS| $crate::__private::begin(&__TRACE_SITE, &__TRACE_KEYS, $names, $crate::__trace_arguments!($($value),*)),
            $crate::DurationScope::NOT_RECORDED
        )
    };
}
