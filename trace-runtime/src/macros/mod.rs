//! The macros of trace points.

traced! {
    mod events;
    mod support;
    mod task;
}

mod off;
