//! `trace timeline`.

use memchr::memmem;
use trace_convert::timeline::{Timeline, DEFAULT_LIMIT};
use trace_format::Reader;

use super::written;
use crate::archive::archive;

/// Takes bytes for an archive: a page and a picture are made of it, whose texts are not those of
/// the archive unless escaped.
pub fn timeline(bytes: &[u8]) {
    let archive = archive(bytes);
    let read =
        |limit| Timeline::read(Reader::new(&archive[..]), limit).expect("it starts as archives do");
    let all = read(DEFAULT_LIMIT);
    assert_eq!(all.left_out, 0);
    let some = read(5);
    assert!(some.events <= 5);
    assert_eq!(some.events + some.left_out, all.events);
    let title = String::from_utf8_lossy(bytes);
    let svg = written(&archive, |output| {
        all.svg(&title, output).expect("memory can be written");
    });
    well_formed(&svg);
    let page = written(&archive, |output| all.html(&title, output).expect("memory"));
    assert!(std::str::from_utf8(&page).is_ok(), "a page is UTF-8");
    let count = |text: &str| memmem::find_iter(&page, text).count();
    assert_eq!(count("<script"), count("</script>"));
    assert_eq!(count("<script>&"), 0, "texts are escaped");
}

/// Asserts that a picture is XML.
pub(super) fn well_formed(svg: &[u8]) {
    let mut reader = quick_xml::Reader::from_reader(svg);
    let mut depth = 0;
    loop {
        use quick_xml::events::Event::{End, Eof, GeneralRef, Start};
        match reader.read_event().expect("it is XML") {
            Start(element) => {
                assert!(element.attributes().all(|attribute| attribute.is_ok()));
                depth += 1;
            }
            GeneralRef(name) => assert!(is_known(&name), "{name:?}"),
            End(_) => depth -= 1,
            Eof => break,
            _ => {}
        }
    }
    assert_eq!(depth, 0);
}

/// Tells whether XML knows what a reference stands for.
fn is_known(name: &[u8]) -> bool {
    name.starts_with(b"#") || [&b"amp"[..], b"lt", b"gt", b"quot", b"apos"].contains(&name)
}
