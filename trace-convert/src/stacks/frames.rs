//! The texts of frames.

use std::collections::hash_map::{Entry, HashMap};

use crate::visible;

/// A category and a name.
type Frame<'a> = (&'a str, &'a str);

/// The texts of frames, which are durations or operations of a category and a name.
///
/// The text is the name, or `category:name` if frames of several categories have that name.
/// Different frames have different texts.
#[derive(Debug, Default)]
pub struct FrameNames<'a> {
    /// By category and by name.
    texts: HashMap<&'a str, HashMap<&'a str, String>>,
    /// The frame with each text, or `None` if several would have it.
    owners: HashMap<String, Option<(Frame<'a>, Form)>>,
}

/// The form of a text. Each one distinguishes more frames than those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Name,
    WithCategory,
    /// Two frames never have the same text: `"a:b":"c"` is not `"a":"b:c"`.
    Quoted,
}

impl Form {
    fn text(self, (category, name): Frame<'_>) -> String {
        match self {
            Self::Name => frame_name(name),
            Self::WithCategory => frame_name(&format!("{category}:{name}")),
            Self::Quoted => {
                visible(&format!("{category:?}:{name:?}").replace(';', "\\u{3b}")).into_owned()
            }
        }
    }

    fn longer(self) -> Self {
        match self {
            Self::Name => Self::WithCategory,
            Self::WithCategory | Self::Quoted => Self::Quoted,
        }
    }
}

impl<'a> FrameNames<'a> {
    /// Returns the texts of the frames of one output, by their categories and names.
    pub fn new(frames: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut names = Self::default();
        for (category, name) in frames {
            if names.get(category, name).is_none() {
                names.add((category, name));
            }
        }
        names
    }

    /// Returns the text of a frame, or an empty string if the output does not have that frame.
    #[must_use]
    pub fn text(&self, category: &str, name: &str) -> &str {
        self.get(category, name).unwrap_or_default()
    }

    fn get(&self, category: &str, name: &str) -> Option<&str> {
        self.texts.get(category)?.get(name).map(String::as_str)
    }

    /// Finds the text of a frame. If another one has it, both get longer ones.
    fn add(&mut self, frame: Frame<'a>) {
        let mut waiting = vec![(frame, Form::Name)];
        while let Some((frame, form)) = waiting.pop() {
            let text = form.text(frame);
            let before = match (form, self.owners.entry(text.clone())) {
                (Form::Quoted, Entry::Occupied(mut owner)) => owner.insert(Some((frame, form))),
                (_, Entry::Occupied(mut owner)) => {
                    waiting.push((frame, form.longer()));
                    waiting.extend(owner.get_mut().take().map(|(it, form)| (it, form.longer())));
                    continue;
                }
                (_, Entry::Vacant(owner)) => {
                    owner.insert(Some((frame, form)));
                    None
                }
            };
            waiting.extend(before.map(|(it, form)| (it, form.longer())));
            self.texts.entry(frame.0).or_default().insert(frame.1, text);
        }
    }
}

/// Returns an untrusted name without separators of frames and lines, escaped by [`visible`].
pub fn frame_name(name: &str) -> String {
    if name.is_empty() {
        return "(no name)".to_owned();
    }
    visible(&name.replace(';', ":")).into_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn texts(frames: &[Frame<'_>]) -> Vec<String> {
        let names = FrameNames::new(frames.iter().copied());
        frames.iter().map(|(category, name)| names.text(category, name).to_owned()).collect()
    }

    #[test]
    fn a_category_is_shown_where_the_name_is_not_enough() {
        let frames = [("db", "query"), ("web", "query"), ("db", "decode"), ("db", "query")];
        assert_eq!(texts(&frames), ["db:query", "web:query", "decode", "db:query"]);
        assert_eq!(texts(&[("", "query"), ("web", "query")]), [":query", "web:query"]);
        assert_eq!(FrameNames::default().text("db", "query"), "");
    }

    #[test]
    fn a_name_that_looks_like_another_frame() {
        let frames = [("db", "query"), ("web", "query"), ("app", "db:query")];
        assert_eq!(texts(&frames), [r#""db":"query""#, "web:query", "app:db:query"]);
        assert_eq!(texts(&[("a", "b;c"), ("a", "b:c")]), [r#""a":"b\u{3b}c""#, r#""a":"b:c""#]);
        let frames = [("a:b", "c"), ("a", "b:c"), ("", "b:c"), ("", "c")];
        assert_eq!(texts(&frames), [r#""a:b":"c""#, r#""a":"b:c""#, ":b:c", ":c"]);
    }

    proptest! {
        #[test]
        fn different_frames_have_different_texts(
            frames in prop::collection::hash_set(("[ab:;\"\\\\]{0,4}", "[ab:;\"\\\\]{0,6}"), 0..60)
        ) {
            let frames: Vec<Frame<'_>> =
                frames.iter().map(|(category, name)| (&**category, &**name)).collect();
            let texts = texts(&frames);
            prop_assert!(texts.iter().all(|text| !text.is_empty() && !text.contains(';')));
            prop_assert_eq!(texts.iter().collect::<HashSet<_>>().len(), frames.len());
        }
    }
}
