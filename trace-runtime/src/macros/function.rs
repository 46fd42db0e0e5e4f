//! Internal macros to which `#[trace_fn]` expands.

/// Begins the duration of a function: `(category, name), key => value, …`, with constant category
/// and name.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_fn_begin {
    ($site:tt) => {
        $crate::__trace_site!(
            function,
            $site,
            $crate::__private::Literal,
            [],
            |__TRACE_SITE, __TRACE_KEYS, names| $crate::__private::begin_plain(&__TRACE_SITE),
            $crate::DurationScope::NOT_RECORDED
        )
    };
    ($site:tt $(, $key:literal => $value:expr)+) => {
        $crate::__trace_begin!($site, $crate::__private::Literal $(, $key => $value)+)
    };
}

/// Expands to the crate's name, the default category.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_category {
    () => {
        $crate::__private::crate_name(::core::module_path!())
    };
}

/// Expands to a literal name.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_name {
    ($name:literal) => {
        $crate::__private::Name::Text($name)
    };
}

/// Writes the result of a function as an instant: `ret`, `err` or `both`, `category, result`.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_fn_result {
    (ret, $category:expr, $result:expr) => {
        $crate::__trace_fn_instant!($category, "return", "value", &$result)
    };
    (err, $category:expr, $result:expr) => {
        if let ::core::result::Result::Err(error) = $crate::__attribute::outcome(&$result) {
            $crate::__trace_fn_instant!($category, "error", "error", error)
        }
    };
    (both, $category:expr, $result:expr) => {
        match $crate::__attribute::outcome(&$result) {
            ::core::result::Result::Ok(value) => {
                $crate::__trace_fn_instant!($category, "return", "value", value)
            }
            ::core::result::Result::Err(error) => {
                $crate::__trace_fn_instant!($category, "error", "error", error)
            }
        }
    };
}

/// Writes an instant in a function: `category, name, key, reference to the value`.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_fn_instant {
    ($category:expr, $name:literal, $key:literal, $value:expr) => {
        $crate::__trace_instant!(
            $crate::__private::Here,
            ($category, $crate::__private::Name::Text($name)),
            $crate::__private::Literal,
            $key => $crate::__attribute::required($value).__trace_value()
        )
    };
}

/// Writes a flow event in a function: `type, category, id`.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_fn_flow {
    ($event:ident, $category:expr, $id:expr) => {
        $crate::__trace_event_with_id!(
            $event,
            $crate::__private::Here,
            ($category, $crate::__private::Name::Text("flow")),
            $crate::__private::Literal,
            $id
        )
    };
}

/// Evaluates the id of a flow that is recorded later, if the category is recorded: `category, id`.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_fn_flow_id {
    ($category:expr, $id:expr) => {{
        #[used]
        #[link_section = "trace_sites"]
        static __TRACE_SITE: $crate::__private::Site =
            $crate::__private::Site::category_check($category);
        if $crate::__private::Site::is_on(&__TRACE_SITE) {
            ::core::option::Option::Some($crate::__private::id($id))
        } else {
            ::core::option::Option::None
        }
    }};
}

/// Writes a flow event whose id was evaluated earlier, if it was: `type, category, id`.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_fn_flow_later {
    ($event:ident, $category:expr, $id:expr) => {
        if let ::core::option::Option::Some(id) = $id {
            $crate::__trace_fn_flow!($event, $category, id);
        }
    };
}
