//! The headers of pages and events.

use super::declaration::Declaration;
use super::error::{FormatError, FormatFault};
use crate::byte_order::ByteOrder;
use crate::page::PageLayout;

/// The lines of `events/header_event`, which has been the same since Linux 2.6.32.
const EVENT_HEADER: [(&str, &str); 7] = [
    ("type_len", "5 bits"),
    ("time_delta", "27 bits"),
    ("array", "32 bits"),
    ("padding", "type == 29"),
    ("time_extend", "type == 30"),
    ("time_stamp", "type == 31"),
    ("data max type_len", "== 28"),
];

/// Returns the layout of pages that a file `events/header_page` describes.
///
/// # Errors
///
/// A field is missing or malformed, or fields overlap.
pub fn page_layout(text: &str, order: ByteOrder) -> Result<PageLayout, FormatError> {
    let field = |name: &'static str| {
        let is_it = |text: &str| text.rsplit([' ', '\t']).next() == Some(name);
        for (number, line) in text.lines().enumerate() {
            match Declaration::parse(line) {
                Some(Ok(field)) if is_it(field.text) => return Ok(field),
                Some(Err(fault)) => return Err(FormatError { line: number + 1, fault }),
                _ => {}
            }
        }
        Err(FormatError { line: 0, fault: FormatFault::NoPageField(name) })
    };
    let (time, commit, data) = (field("timestamp")?, field("commit")?, field("data")?);
    let layout = PageLayout {
        order,
        commit_offset: commit.offset,
        commit_size: commit.size,
        data_offset: data.offset,
        page_size: data.offset.saturating_add(data.size),
    };
    let is_possible = (time.offset, time.size) == (0, 8) && layout.is_possible();
    match is_possible {
        true => Ok(layout),
        false => Err(FormatError { line: 0, fault: FormatFault::PageLayout }),
    }
}

/// Checks that a file `events/header_event` describes the header that this crate reads.
///
/// # Errors
///
/// A part of the header has another size or number.
pub fn check_event_header(text: &str) -> Result<(), FormatError> {
    for (number, line) in text.lines().enumerate() {
        // `data max type_len  == 28` has no colon.
        let (name, value) = match line.split_once(':') {
            Some((name, value)) => (name.trim(), value.trim()),
            None => match line.find("==") {
                Some(place) => (line[..place].trim(), line[place..].trim()),
                None => continue,
            },
        };
        let known = EVENT_HEADER.iter().find(|(known, _)| *known == name);
        if let Some((name, _)) = known.filter(|(_, expected)| *expected != value) {
            return Err(FormatError { line: number + 1, fault: FormatFault::EventHeader(name) });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
        \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

    const EVENT: &str = "# compressed entry header\n\ttype_len    :    5 bits\n\
        \ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n\tpadding     : type == 29\n\
        \ttime_extend : type == 30\n\ttime_stamp : type == 31\n\tdata max type_len  == 28\n";

    fn page(text: &str) -> Result<PageLayout, FormatFault> {
        page_layout(text, ByteOrder::Little).map_err(|error| error.fault)
    }

    #[test]
    fn layouts_of_pages() {
        let layout = PageLayout {
            order: ByteOrder::Little,
            commit_offset: 8,
            commit_size: 8,
            data_offset: 16,
            page_size: 4096,
        };
        assert_eq!(page(PAGE), Ok(layout));
        let narrow = PAGE
            .replace("offset:8;\tsize:8", "offset:8;\tsize:4")
            .replace("offset:16;\tsize:4080", "offset:12;\tsize:65524");
        let layout = PageLayout { commit_size: 4, data_offset: 12, page_size: 65536, ..layout };
        assert_eq!(page(&narrow), Ok(layout));
    }

    #[test]
    fn impossible_layouts() {
        let changed = |from, to| page(&PAGE.replace(from, to));
        assert_eq!(changed("commit", "x"), Err(FormatFault::NoPageField("commit")));
        assert_eq!(changed("offset:16", "offset:x"), Err(FormatFault::Field));
        for (from, to) in [
            ("offset:16", "offset:15"),
            ("size:4080", "size:99999999"),
            ("size:4080", "size:18446744073709551615"),
            ("offset:0", "offset:1"),
            ("offset:8;\tsize:8", "offset:8;\tsize:3"),
            ("offset:8;\tsize:8", "offset:4;\tsize:8"),
        ] {
            assert_eq!(changed(from, to), Err(FormatFault::PageLayout), "{from} {to}");
        }
    }

    #[test]
    fn headers_of_events() {
        assert_eq!(check_event_header(EVENT), Ok(()));
        for (from, to, name, line) in [
            ("5 bits", "6 bits", "type_len", 2),
            ("== 29", "== 28", "padding", 6),
            ("type_len  == 28", "type_len  == 27", "data max type_len", 9),
        ] {
            let fault = FormatFault::EventHeader(name);
            let changed = EVENT.replace(from, to);
            assert_eq!(check_event_header(&changed), Err(FormatError { line, fault }));
        }
    }
}
