//! The macros of trace points.

traced! {
    mod blob;
    mod events;
    mod flow;
    mod name;
    mod object;
    mod place;
    mod support;
    mod task;
    mod track;
}

mod off;
