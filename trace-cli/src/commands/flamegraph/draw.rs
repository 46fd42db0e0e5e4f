//! Drawing of flame graphs.

use std::fmt::Write;

use anyhow::Result;
use inferno::flamegraph::{self, Options, TextTruncateDirection};

/// Returns the line of a stack, with the time spent in it, or the times before and after.
pub(crate) fn line(stack: &str, times: &[u64]) -> String {
    let mut line = unmistakable(stack);
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

/// Draws into memory, because inferno reduces write errors to text.
pub(crate) fn draw(title: String, lines: &[String]) -> Result<Vec<u8>> {
    let mut options = Options::default();
    options.title = title;
    options.count_name = "ns".to_owned();
    options.text_truncate_direction = TextTruncateDirection::Right;
    // The same archive makes the same picture.
    options.deterministic = true;
    let mut svg = Vec::new();
    let lines = lines.iter().map(String::as_str);
    flamegraph::from_lines(&mut options, lines, &mut svg)?;
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_end_in_a_number_are_drawn() {
        let stacks = ["all of it;worker 1", "all of it;worker 1;read 2"];
        let lines = stacks.map(|stack| line(stack, &[500]));
        assert_eq!(lines[0], "all of it;worker\u{a0}1 500");
        let svg = String::from_utf8(draw(String::new(), &lines).unwrap()).unwrap();
        assert!(svg.contains("worker\u{a0}1 (1,000 ns, 100.00%)"), "{svg}");
        assert!(svg.contains("read\u{a0}2 (500 ns, 50.00%)"), "{svg}");
    }
}
