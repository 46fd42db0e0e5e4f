//! puffin: scopes collected in a thread-local stream that is handed over when the outermost scope
//! of the thread ends.

use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use ::puffin::{profile_scope, set_scopes_on, FrameSinkId, GlobalProfiler};

use crate::peer::{Peer, Session};

/// puffin with a sink that writes its own file format (compressed frames).
pub const PEER: Peer = Peer {
    name: "puffin",
    through_tracing: false,
    off: Some(scope),
    scope,
    scope_args: Some(|n| {
        profile_scope!("frame");
        for i in 0..n as i64 {
            // A scope can have only one string.
            profile_scope!("scope", format!("{i} short"));
            black_box(i);
        }
    }),
    instant: None,
    counter: None,
    start,
};

fn scope(n: u64) {
    // As in a real program: only the end of an outermost scope takes the global lock.
    profile_scope!("frame");
    for i in 0..n {
        profile_scope!("scope");
        black_box(i);
    }
}

type Output = Arc<Mutex<BufWriter<File>>>;

struct Profiling {
    sink: FrameSinkId,
    output: Output,
}

fn start(file: &Path) -> Box<dyn Session> {
    let file = File::create(file).expect("the scratch directory is writable");
    let output: Output = Arc::new(Mutex::new(BufWriter::new(file)));
    let written = output.clone();
    let sink = GlobalProfiler::lock().add_sink(Box::new(move |frame| {
        let mut output = written.lock().expect("no sink has panicked");
        frame.write_into(None, &mut *output).expect("the scratch directory has room");
    }));
    set_scopes_on(true);
    Box::new(Profiling { sink, output })
}

impl Session for Profiling {
    fn settle(&mut self) {
        GlobalProfiler::lock().new_frame();
    }

    fn finish(mut self: Box<Self>) {
        self.settle();
        set_scopes_on(false);
        GlobalProfiler::lock().remove_sink(self.sink);
        let mut output = self.output.lock().expect("no sink has panicked");
        output.flush().expect("the scratch directory has room");
    }
}
