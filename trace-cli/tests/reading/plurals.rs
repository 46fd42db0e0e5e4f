//! Numbers of things in messages.

use crate::harness::{good, Place};

/// Returns the words behind a number 1 that stands alone.
fn behind_one(text: &str) -> Vec<&str> {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(2).filter(|pair| pair[0] == "1").map(|pair| pair[1]).collect()
}

#[test]
fn one_thing_is_singular() {
    let place = Place::new();
    place.put("good.fxt", &good());
    for line in ["check good.fxt", "merge good.fxt -o both.fxt"] {
        let run = place.run(&line.split(' ').collect::<Vec<_>>());
        let text = format!("{}{}", run.stdout, run.stderr);
        let words = behind_one(&text);
        assert!(!words.is_empty(), "{line}: {text}");
        let is_plural = |word: &&&str| word.trim_end_matches(',').ends_with('s');
        assert_eq!(words.iter().find(is_plural), None, "{line}: {text}");
    }
}
