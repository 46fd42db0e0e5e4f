//! Events have the name of their call site, and their message, level, file and line as arguments.
#![cfg(all(target_os = "linux", not(feature = "ntrace")))]

mod common;

use std::collections::BTreeSet;

use common::{only, read};
use tracing::{event, info, trace, warn, Level};
use tracing_subscriber::prelude::*;

#[test]
fn events_of_one_call_site_have_one_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("events.fxt");
    tracing_subscriber::registry().with(trace_tracing::layer()).init();
    let trace = trace_runtime::builder().output(&path).init();
    let line = line!() + 2;
    for port in 0..100 {
        info!(port, "connection 127.0.0.1:{port} accepted");
    }
    warn!(only = "fields");
    event!(name: "named", Level::DEBUG, "its text");
    #[rustfmt::skip]
    trace!(target: "other", a=1,b=2,c=3,d=4,e=5,f=6,g=7,h=8,i=9,j=10,k=11,l=12,m=13,n=14, "many fields");
    drop(trace);

    let (events, _) = read(&path);
    let names: BTreeSet<&str> = events.iter().map(|event| &*event.name).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    let site = format!("trace-tracing/tests/events.rs:{line}");
    let accepted: Vec<_> = events.iter().filter(|event| event.name == site).collect();
    assert_eq!(accepted.len(), 100);
    assert_eq!(
        accepted[42].line(),
        format!(
            "instant {site} message=connection 127.0.0.1:42 accepted port=42 level=INFO \
             file=trace-tracing/tests/events.rs line={line}"
        )
    );
    let named = only(&events, "instant", "named");
    assert_eq!(named.argument("message"), Some("its text"));
    assert_eq!(named.argument("level"), Some("DEBUG"));
    let many = events.iter().find(|event| event.category == "other").unwrap();
    assert_eq!(many.arguments.len(), 15);
    assert_eq!(many.argument("level"), Some("TRACE"));
    assert_eq!(many.argument("k"), Some("11"));
    assert_eq!(many.argument("l"), None);
}
