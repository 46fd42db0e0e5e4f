//! `trace critical-path`.

use trace_analyze::critical::{self, Choice, Chosen, Segment};
use trace_format::{ReadError, Reader};

use crate::archive::archive;

/// Takes bytes for an archive: the path of its slowest operation, and of its slowest flow, has no
/// gaps and no overlaps.
pub fn critical_path(bytes: &[u8]) {
    let archive = archive(bytes);
    for flows in [false, true] {
        let choice = Choice { flows, ..Choice::default() };
        let found = critical::slowest(Reader::new(&archive[..]), &choice);
        let Some(chosen) = found.expect("it starts as archives do").slowest else { continue };
        let open = || Ok::<_, ReadError>(Reader::new(&archive[..]));
        let path = critical::path(&chosen, open).expect("it starts as archives do");
        without_gaps(&chosen, &path.segments);
    }
}

fn without_gaps(chosen: &Chosen, path: &[Segment]) {
    let mut at = chosen.begin;
    for segment in path {
        assert_eq!(segment.from, at, "{chosen:?}: {path:?}");
        assert!(segment.to >= segment.from, "{chosen:?}: {path:?}");
        at = segment.to;
    }
    assert_eq!(at, chosen.end, "{chosen:?}: {path:?}");
}
