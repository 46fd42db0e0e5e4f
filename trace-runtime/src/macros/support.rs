//! Internal macros that all trace points share.

/// Expands to the name of the enclosing function. Use it inside a site's initializer.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_function_name {
    () => {{
        struct Here;
        $crate::__private::Name::Path {
            module: ::core::module_path!(),
            item: ::core::any::type_name::<Here>,
        }
    }};
}

/// Evaluates a macro's body with the site and the keys of a trace point, if its category is
/// recorded.
///
/// The category is a constant `&'static str`, and the name a constant `Name`. `$names` is the
/// source of category and name in the record. It is evaluated first, and the body only if it
/// reports that the category is recorded.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_site {
    (scope, $site:tt, $($rest:tt)*) => {
        $crate::__trace_site!(@ scope [] $site, $($rest)*)
    };
    (function, $site:tt, $($rest:tt)*) => {
        $crate::__trace_site!(@ function [] $site, $($rest)*)
    };
    (operation, $site:tt, $($rest:tt)*) => {
        $crate::__trace_site!(@ operation [] $site, $($rest)*)
    };
    ($event:ident, $site:tt, $($rest:tt)*) => {
        $crate::__trace_site!(@ event [$crate::__private::EventType::$event,] $site, $($rest)*)
    };
    (
        @ $form:ident [$($event:tt)*]
        ($category:expr, $name:expr),
        $names:expr,
        [$($key:expr),*],
        |$site:ident, $keys:ident, $named:ident| $body:expr,
        $otherwise:expr
    ) => {{
        const TRACE_KEYS_MUST_BE_CONSTANT: ::core::primitive::usize =
            $crate::__count_keys(&[$($key),*]);
        static $keys: [$crate::__private::Key; TRACE_KEYS_MUST_BE_CONSTANT] = [$($crate::__private::Key::new($key)),*];
        // `#[used]`: it is stored to through the section, which the compiler does not see.
        #[used]
        #[link_section = "trace_sites"]
        static $site: $crate::__private::Site =
            $crate::__private::Site::$form($($event)* $category, $name, &$keys);
        if $crate::__private::Site::is_on(&$site) {
            match $names {
                $named if $crate::__private::CategoryCheck::is_on(&$named) => $body,
                _ => $otherwise,
            }
        } else {
            $otherwise
        }
    }};
}

/// Expands to the values of the arguments as nested pairs.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_arguments {
    () => { () };
    ($value:expr $(, $rest:expr)*) => {
        ($crate::__located_call!($crate::__recorded, $value), $crate::__trace_arguments!($($rest),*))
    };
}

/// Calls `$macro!` with category and name in the site if they are literals, else in the record.
///
/// The call is `$macro!(first… (category, name), names, rest…)`.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_named {
    ($macro:ident, [$($first:tt)*], $category:literal, $name:literal $(, $($rest:tt)*)?) => {
        $crate::$macro!($($first)* ($category, $crate::__private::Name::Text($name)), $crate::__private::Literal, $($($rest)*)?)
    };
    ($macro:ident, [$($first:tt)*], $category:literal, $name:expr $(, $($rest:tt)*)?) => {
        $crate::$macro!(
            $($first)* ($category, $crate::__private::Name::Text("")),
            $crate::__private::NameAtRunTime($crate::__private::text(&$name)),
            $($($rest)*)?
        )
    };
    ($macro:ident, [$($first:tt)*], $category:expr, $name:expr $(, $($rest:tt)*)?) => {
        $crate::$macro!(
            $($first)* ("", $crate::__private::Name::Text("")),
            $crate::__private::BothAtRunTime($crate::__private::text(&$category), $crate::__private::text(&$name)),
            $($($rest)*)?
        )
    };
    ($macro:ident, $($wrong:tt)*) => {
        $crate::__trace_expected!(names)
    };
}

/// Writes an event: `type, place, (category, name), names, key => value, …`.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_event {
    ($event:ident, $place:expr, $site:tt, $names:expr, $($key:expr => $value:expr),* $(,)?) => {
        $crate::__trace_write!($event, $place, $site, $names, [] $(, $key => $value)*)
    };
    ($event:ident, $place:expr, $site:tt, $names:expr, $($rest:tt)+) => {
        $crate::__trace_formatted!(__trace_event, arguments, none, [$event, $place, $site, $names,] $($rest)+)
    };
    ($event:ident, $($wrong:tt)*) => {
        $crate::__trace_expected!(arguments)
    };
}

/// Writes an event with an id: `type, place, (category, name), names, id, key => value, …`.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_event_with_id {
    ($event:ident, $place:expr, $site:tt, $names:expr, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_write!($event, $place, $site, $names, [$crate::__private::id($id)] $(, $key => $value)*)
    };
    ($event:ident, $place:expr, $site:tt, $names:expr, $id:expr, $($rest:tt)+) => {
        $crate::__trace_formatted!(__trace_event_with_id, id, none, [$event, $place, $site, $names, $id,] $($rest)+)
    };
    ($event:ident, $($wrong:tt)*) => {
        $crate::__trace_expected!(id)
    };
}

/// Writes a counter with at least one value: `place, (category, name), names, id, key => value, …`.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_counter {
    ($place:expr, $site:tt, $names:expr, $id:expr $(, $key:expr => $value:expr)+ $(,)?) => {
        $crate::__trace_site!(
            Counter,
            $site,
            $names,
            [$($key),+],
            |__TRACE_SITE, __TRACE_KEYS, names| $crate::__private::event_at(
                &__TRACE_SITE,
                &__TRACE_KEYS,
                $place,
                names,
                $crate::__private::numbers($crate::__trace_arguments!($($value),+)),
                [$crate::__private::id($id)],
            ),
            ()
        )
    };
    ($($wrong:tt)*) => {
        $crate::__trace_expected!(counter)
    };
}

/// Writes an instant, with an optional scope: `place, (category, name), names, scope, key => value,
/// …`.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_instant {
    ($place:expr, $site:tt, $names:expr, $($key:expr => $value:expr),* $(,)?) => {
        $crate::__trace_write!(
            Instant, $place, $site, $names, [$crate::__private::scope($crate::InstantScope::Thread)] $(, $key => $value)*
        )
    };
    ($place:expr, $site:tt, $names:expr, $scope:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_write!(
            Instant, $place, $site, $names, [$crate::__private::scope($scope)] $(, $key => $value)*
        )
    };
    ($place:expr, $site:tt, $names:expr, $key:expr => $($rest:tt)+) => {
        $crate::__trace_formatted!(
            __trace_instant, scope, none, [$place, $site, $names,] $key => $($rest)+
        )
    };
    ($place:expr, $site:tt, $names:expr, $scope:expr, $($rest:tt)+) => {
        $crate::__trace_formatted!(__trace_instant, scope, none, [$place, $site, $names, $scope,] $($rest)+)
    };
    ($($wrong:tt)*) => {
        $crate::__trace_expected!(scope)
    };
}

/// Writes an event: `type, place, (category, name), names, [trailing words], key => value, …`.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_write {
    ($event:ident, $place:expr, $site:tt, $names:expr, [$($tail:expr)?] $(, $key:expr => $value:expr)*) => {
        $crate::__trace_site!(
            $event,
            $site,
            $names,
            [$($key),*],
            |__TRACE_SITE, __TRACE_KEYS, names| $crate::__private::event_at(
                &__TRACE_SITE,
                &__TRACE_KEYS,
                $place,
                names,
                $crate::__trace_arguments!($($value),*),
                [$($tail)?],
            ),
            ()
        )
    };
}

/// Begins a duration: `(category, name), names, key => value, …`.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_begin {
    ($site:tt, $names:expr, $($key:expr => $value:expr),* $(,)?) => {
        $crate::__trace_site!(
            scope,
            $site,
            $names,
            [$($key),*],
            |__TRACE_SITE, __TRACE_KEYS, names| $crate::__private::begin(
                &__TRACE_SITE,
                &__TRACE_KEYS,
                names,
                $crate::__trace_arguments!($($value),*),
            ),
            $crate::DurationScope::NOT_RECORDED
        )
    };
    ($site:tt, $names:expr, $($rest:tt)+) => {
        $crate::__trace_formatted!(__trace_begin, arguments, none, [$site, $names,] $($rest)+)
    };
    ($($wrong:tt)*) => {
        $crate::__trace_expected!(arguments)
    };
}

/// Begins a duration with literal names and without arguments.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_begin_plain {
    ($category:expr, $name:expr) => {
        $crate::__trace_site!(
            function,
            ($category, $crate::__private::Name::Text($name)),
            $crate::__private::Literal,
            [],
            |__TRACE_SITE, __TRACE_KEYS, names| $crate::__private::begin_plain(&__TRACE_SITE),
            $crate::DurationScope::NOT_RECORDED
        )
    };
}
