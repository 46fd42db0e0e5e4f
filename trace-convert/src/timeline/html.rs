//! The web page.

use std::io::{self, Write};

use data_encoding::BASE64;
use sha2::{Digest, Sha256};

use super::visible::visible;
use super::Timeline;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
/// The script, in one scope. Data and texts are first, then positions and relations of events, then
/// drawing, then what users do. `start.js` runs when all others are defined.
const SCRIPT: &str = concat!(
    include_str!("page/bytes.js"),
    include_str!("page/losses.js"),
    include_str!("page/data.js"),
    include_str!("page/arguments.js"),
    include_str!("page/units.js"),
    include_str!("page/scene.js"),
    include_str!("page/items.js"),
    include_str!("page/hit.js"),
    include_str!("page/links.js"),
    include_str!("page/colours.js"),
    include_str!("page/strip.js"),
    include_str!("page/paint.js"),
    include_str!("page/arrows.js"),
    include_str!("page/graph.js"),
    include_str!("page/names.js"),
    include_str!("page/ruler.js"),
    include_str!("page/overview.js"),
    include_str!("page/range.js"),
    include_str!("page/search.js"),
    include_str!("page/describe.js"),
    include_str!("page/panel.js"),
    include_str!("page/pointer.js"),
    include_str!("page/main.js"),
    include_str!("page/keys.js"),
    include_str!("page/start.js"),
);

impl Timeline {
    /// Writes a page with the timeline and a title.
    ///
    /// The page has 100 KB, and 8 to 20 bytes for an event.
    ///
    /// # Errors
    ///
    /// Only what `output` returns.
    pub fn html(&self, title: &str, output: &mut impl Write) -> io::Result<()> {
        let title = escaped(&visible(title));
        let mut rest = PAGE;
        while let Some((before, (mark, after))) =
            rest.split_once("{{").and_then(|(before, rest)| Some((before, rest.split_once("}}")?)))
        {
            output.write_all(before.as_bytes())?;
            match mark {
                "title" => output.write_all(title.as_bytes())?,
                "script hash" => hash(SCRIPT, output)?,
                "style hash" => hash(STYLE, output)?,
                "script" => output.write_all(SCRIPT.as_bytes())?,
                "style" => output.write_all(STYLE.as_bytes())?,
                _ => write!(output, "{}", BASE64.encode_display(&self.encode()))?,
            }
            rest = after;
        }
        output.write_all(rest.as_bytes())
    }
}

/// Writes the hash of a script or style for a Content Security Policy.
fn hash(text: &str, output: &mut impl Write) -> io::Result<()> {
    write!(output, "'sha256-{}'", BASE64.encode_display(&Sha256::digest(text)))
}

/// Escapes a text for HTML and XML.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            character => escaped.push(character),
        }
    }
    escaped
}
