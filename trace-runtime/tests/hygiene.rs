//! Macros in a module that redefines the names that they could use by accident.

/// A macro that the trace points must not call.
#[allow(unused_macros, reason = "the trace points do not call it")]
macro_rules! assert {
    ($($anything:tt)*) => {
        compile_error!("a trace point calls a macro of the application")
    };
}

mod hostile {
    #![allow(
        non_camel_case_types,
        dead_code,
        unused_imports,
        clippy::wrong_self_convention,
        reason = "the module is hostile on purpose"
    )]

    use core::future::ready;

    use trace_runtime::{
        trace_alert, trace_at, trace_blob, trace_blob_attachment, trace_blob_event,
        trace_category_enabled, trace_counter, trace_duration, trace_flow_begin, trace_future_args,
        trace_instaflow_begin, trace_instant, trace_kernel_object, trace_log, trace_thread_name,
        trace_track, trace_userspace_object, BlobType, ObjectType, Timestamp, TraceFutureExt,
        Track,
    };

    struct usize;
    struct str;
    struct u64;
    struct u32;
    struct u8;
    struct bool;
    struct Option;
    struct Result;
    struct Site;

    /// Methods of every type, which are found before methods by reference.
    trait Everything: Sized {
        fn is_on(self) {}
        fn value(self) {}
        fn arg(self) {}
        fn raise(self) {}
        fn into(self) {}
        fn start(self) {}
        fn len(self) {}
    }

    impl<T> Everything for T {}

    pub(super) fn trace_points() {
        trace_duration!("test", "duration");
        trace_duration!("test", "duration", "a" => 1);
        trace_duration!("test", *"duration", "a" => 1);
        trace_instant!("test", "instant", "a" => "text");
        trace_counter!("test", "counter", 1, "a" => 1);
        trace_flow_begin!("test", "flow", 1);
        trace_alert!("test", "alert");
        trace_instaflow_begin!("test", "flow", "step", 1);
        trace_at!(Timestamp::now()..Timestamp::now(), duration_complete("test", "complete"));
        trace_at!(Timestamp::now(), instant("test", "instant"));
        trace_thread_name!("thread");
        trace_blob!(BlobType::DATA, "blob", [1]);
        trace_blob_event!("test", "blob", [1], "a" => 1);
        trace_blob_attachment!("test", "blob", "text");
        let object = 1;
        trace_userspace_object!(&raw const object, "object", "a" => 1);
        trace_kernel_object!(1, ObjectType(100), "object");
        trace_log!("test", "{}", 1);
        let track = Track::new("track");
        trace_track!(track, duration("test", "duration"));
        drop(ready(()).trace(trace_future_args!("test", "future", "a" => 1)));
        let _ = trace_category_enabled!("test");
    }

    /// The same, compiled out.
    pub(super) mod quiet {
        use super::*;
        use trace_runtime::ntrace::{
            trace_alert, trace_at, trace_blob, trace_blob_attachment, trace_blob_event,
            trace_category, trace_category_enabled, trace_counter, trace_duration,
            trace_flow_begin, trace_future_args, trace_instaflow_begin, trace_instant,
            trace_kernel_object, trace_log, trace_thread_name, trace_track, Timestamp, Track,
        };

        pub(crate) fn trace_points() {
            trace_duration!("test", "duration", "a" => 1);
            trace_instant!("test", "instant", "a" => "text");
            trace_counter!("test", "counter", 1, "a" => 1);
            trace_flow_begin!("test", "flow", 1);
            trace_alert!("test", "alert");
            trace_instaflow_begin!("test", "flow", "step", 1);
            trace_at!(Timestamp::now()..Timestamp::now(), duration_complete("test", "complete"));
            trace_at!(Timestamp::now(), instant("test", "instant"));
            trace_thread_name!("thread");
            trace_blob!(BlobType::DATA, "blob", [1]);
            trace_blob_event!("test", "blob", [1], "a" => 1);
            trace_blob_attachment!("test", "blob", "text");
            trace_kernel_object!(1, ObjectType(100), "object");
            trace_log!("test", "{}", 1);
            let track = Track::new("track");
            trace_track!(track, duration("test", "duration"));
            let _ = trace_future_args!("test", "future", "a" => 1);
            let _ = trace_category_enabled!("test");
            trace_category!("quiet", "not recorded");
        }
    }

    #[cfg(feature = "attributes")]
    pub(super) mod functions {
        use super::*;
        use trace_runtime::trace_fn;

        #[trace_fn(args, ret, flow = 1)]
        pub(crate) fn called(number: core::primitive::u8) -> core::primitive::u8 {
            number
        }

        #[trace_fn(args, err, ret, flow = 1)]
        pub(crate) async fn awaited(
            number: core::primitive::u8,
        ) -> core::result::Result<(), core::primitive::u8> {
            Err(number)
        }

        #[trace_fn(args, flow = 1)]
        pub(crate) fn returned(
            number: core::primitive::u8,
        ) -> impl core::future::Future<Output = core::primitive::u8> {
            async move { number }
        }

        #[trace_runtime::ntrace::trace_fn(args, err, ret, flow = 1)]
        pub(crate) fn untraced(
            number: core::primitive::u8,
        ) -> core::result::Result<(), core::primitive::u8> {
            Err(number)
        }
    }
}

#[test]
fn macros_work_among_hostile_names() {
    hostile::trace_points();
    hostile::quiet::trace_points();
    #[cfg(feature = "attributes")]
    {
        use hostile::functions::{awaited, called, returned, untraced};
        assert_eq!(called(1), 1);
        assert_eq!(untraced(2), Err(2));
        drop((awaited(3), returned(4)));
    }
}
