//! Drawing of flame graphs.

use std::fmt::Write;

use anyhow::{bail, Result};
use inferno::flamegraph::{self, Options, TextTruncateDirection};

/// A stack with its time, or its times before and after, in nanoseconds, or numbers of samples.
pub(crate) type Stack = (String, Vec<u64>);

fn line((stack, times): &Stack) -> String {
    let mut line = unmistakable(stack);
    if line.trim_start().starts_with('#') {
        // inferno skips comments. A word joiner is invisible, and no white space.
        line.insert(0, '\u{2060}');
    }
    for nanos in times {
        write!(line, " {nanos}").expect("a string takes any text");
    }
    line
}

/// Returns a stack in which no name ends like a time: `worker 1 500` would be read
/// as `worker` with two times. A no-break space keeps the number in the name.
fn unmistakable(stack: &str) -> String {
    let name = |name: &str| match name.rsplit_once(' ') {
        Some((head, number)) if number.starts_with(|start: char| start.is_ascii_digit()) => {
            format!("{head}\u{a0}{number}")
        }
        _ => name.to_owned(),
    };
    let names: Vec<String> = stack.split(';').map(name).collect();
    names.join(";")
}

/// A button for the search that can be seen, and the colours of the picture's background and of
/// text outside of frames, if the viewer is dark. inferno has light ones only.
const STYLE: &str = "#search{opacity:.8}@media(prefers-color-scheme:dark){stop{stop-color:#16181d}\
    :root{background:#16181d}svg>text,#details,#matched{fill:#ddd}#frames path{stroke:#ddd}}";

/// The end of inferno's style.
const STYLE_END: &str = "</style>";

/// What colors and the second percentage of a box show beside an earlier archive.
const CHANGES: &str =
    "color, second percentage: change of a box's own time, as a share of all time";

/// Draws into memory, with widths in `unit`, because inferno reduces write errors to text.
///
/// # Errors
/// If the durations take no time, or more than 64 bits of nanoseconds, which inferno cannot draw.
pub(crate) fn draw(title: String, unit: &str, stacks: &[Stack]) -> Result<Vec<u8>> {
    let mut times = stacks.iter().filter_map(|(_, times)| times.last());
    match times.try_fold(0u64, |sum, nanos| sum.checked_add(*nanos)) {
        Some(0) => bail!("all durations are 0 ns long"),
        Some(_) => {}
        None => bail!("the durations add up to more than 584 years"),
    }
    let mut options = Options::default();
    options.title = title;
    if stacks.iter().any(|(_, times)| times.len() > 1) {
        options.subtitle = Some(CHANGES.to_owned());
    }
    options.count_name = unit.to_owned();
    options.text_truncate_direction = TextTruncateDirection::Right;
    // The same archive makes the same picture.
    options.deterministic = true;
    let mut svg = Vec::new();
    let lines: Vec<String> = stacks.iter().map(line).collect();
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut svg)?;
    Ok(with_style(svg))
}

fn with_style(svg: Vec<u8>) -> Vec<u8> {
    let end = svg.windows(STYLE_END.len()).position(|bytes| bytes == STYLE_END.as_bytes());
    match end {
        Some(end) => {
            let (before, after) = svg.split_at(end);
            [before, STYLE.as_bytes(), b"\n", after].concat()
        }
        None => svg,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_end_in_a_number_are_drawn() {
        let stacks = ["all of it;worker 1", "all of it;worker 1;read 2"];
        let stacks = stacks.map(|stack| (stack.to_owned(), vec![500]));
        let svg = String::from_utf8(draw(String::new(), "ns", &stacks).unwrap()).unwrap();
        assert!(svg.contains("worker\u{a0}1 (1,000 ns, 100.00%)"), "{svg}");
        assert!(svg.contains("read\u{a0}2 (500 ns, 50.00%)"), "{svg}");
    }

    #[test]
    fn a_dark_viewer_has_a_dark_background() {
        let stacks = [("</style>;work".to_owned(), vec![500])];
        let svg = String::from_utf8(draw(String::new(), "ns", &stacks).unwrap()).unwrap();
        assert_eq!(svg.matches("prefers-color-scheme:dark").count(), 1, "{svg}");
        let (style, rest) = svg.split_once(STYLE_END).unwrap();
        assert!(style.contains(STYLE) && rest.contains("&lt;/style&gt;"), "{svg}");
        // The elements that the style changes.
        for part in ["<stop ", "id=\"details\"", "id=\"matched\""] {
            assert!(svg.contains(part), "{svg}");
        }
    }

    #[test]
    fn a_name_is_no_comment() {
        let stacks = [("# process;work".to_owned(), vec![500])];
        let svg = String::from_utf8(draw(String::new(), "ns", &stacks).unwrap()).unwrap();
        assert!(svg.contains("# process (500 ns, 100.00%)"), "{svg}");
    }

    #[test]
    fn durations_without_a_sum_are_an_error() {
        let of = |times: [u64; 2]| {
            let stacks = times.map(|nanos| ("stack".to_owned(), vec![nanos]));
            draw(String::new(), "ns", &stacks).map_err(|error| error.to_string())
        };
        assert!(of([0, 0]).is_err_and(|error| error.contains("0 ns")));
        assert!(of([1 << 63, 1 << 63]).is_err_and(|error| error.contains("584 years")));
        assert!(of([0, u64::MAX]).is_ok());
    }
}
