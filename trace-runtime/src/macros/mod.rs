//! The macros of trace points.

traced! {
    mod events;
    mod flow;
    mod name;
    mod place;
    mod support;
    mod task;
    mod track;
}

mod off;
