//! The macros of trace points.

traced! {
    mod alert;
    mod blob;
    mod events;
    mod flow;
    mod name;
    mod object;
    mod place;
    #[cfg(feature = "attributes")]
    mod function;
    mod support;
    mod task;
    mod track;
}

#[cfg(feature = "attributes")]
mod checked;
mod expected;
mod off;
