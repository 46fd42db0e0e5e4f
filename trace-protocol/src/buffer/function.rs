//! Function records: a scope without arguments, in two words.
//!
//! Providers write them into chunks, if [`Layout::has_function_records`] permits it. The collector
//! replaces them by duration records, so no archive has any. Their types are of no record of the
//! trace format.
//!
//! ```text
//! bits   63 | 62 ..... 34 | 33 ... 19 | 18 ... 4 | 3 ... 0
//! call    1 | ticks       | name      | category | 12
//!   tail exit | time of the end, 0 while the call is open
//! base   ticks without their lowest 4 bits       | 13
//! ```
//!
//! Bit 63 of the second word is 1 if the function ended with a jump to another one. Category and
//! name are indexes of the string table. The ticks of a call are relative to the base
//! before it in its chunk.
//!
//! [`Layout::has_function_records`]: super::header::Layout::has_function_records

use trace_format::layout::{event, event_header, record, EventType, Field, RecordType, StringRef};

use super::producer::CHUNK_THREAD;

/// The type of a function record.
pub(crate) type Type = record::Type;
/// The index of the category's string.
type Category = Field<4, 18>;
/// The index of the name's string.
type Name = Field<19, 33>;
/// The ticks since the base.
pub(crate) type Ticks = Field<34, 62>;
/// The ticks of a base, in units of [`BASE_UNIT`].
type BaseTicks = Field<4, 63>;

/// The type of a call.
pub(crate) const CALL: u64 = 12;
/// The type of a base.
pub(crate) const BASE: u64 = 13;

/// Words of a call.
pub(crate) const CALL_WORDS: usize = 2;

/// The end of a function that jumped to another one: a bit beside the time.
pub const TAIL_EXIT: u64 = 1 << 63;

/// A base is a multiple of this many ticks.
pub(crate) const BASE_UNIT: u64 = 16;

/// The word of a site whose scopes have function records: a call without ticks. It is negative, as
/// the word of a watched site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionWord(u64);

impl FunctionWord {
    const MARK: u64 = 1 << 63;

    /// Makes the word of a site with this category and name. `None` if one of them is not in the
    /// string table.
    pub fn new(category: StringRef, name: StringRef) -> Option<Self> {
        let [category, name] = [category.index()?, name.index()?].map(u64::from);
        Some(Self(Type::make(CALL) | Category::make(category) | Name::make(name) | Self::MARK))
    }

    /// Returns the word for the site's static.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// Returns the word of a site that is negative, if it is one of these.
    #[inline(always)]
    pub fn of_site(word: u64) -> Option<Self> {
        // The headers of watched sites are of events, whose type has not this bit.
        (word & Type::make(CALL & !RecordType::Event.bits()) != 0).then_some(Self(word))
    }

    /// Returns the header of an event of the site, without its size.
    pub fn event_header(self) -> u64 {
        event_header_of(self.0, EventType::DurationBegin, 0)
    }

    /// Returns the first word of a call.
    #[inline(always)]
    pub(crate) fn call(self, ticks: RelativeTicks) -> u64 {
        self.0 | ticks.0
    }
}

/// The ticks of a call, in their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RelativeTicks(u64);

impl RelativeTicks {
    /// `None` if they do not fit: another base must come first.
    #[inline(always)]
    pub(crate) fn new(ticks: u64, base: u64) -> Option<Self> {
        let relative = ticks.wrapping_sub(base);
        (relative <= Ticks::MAX).then_some(Self(Ticks::make(relative)))
    }

    /// Returns the ticks since the [base before](base_before) `ticks`.
    pub(crate) fn behind_base(ticks: u64) -> Self {
        Self(Ticks::make(ticks % BASE_UNIT))
    }
}

/// Returns the base from which `ticks` and later ones count.
pub(crate) fn base_before(ticks: u64) -> u64 {
    ticks / BASE_UNIT * BASE_UNIT
}

/// Returns the record of a base.
pub(crate) fn base_record(base: u64) -> u64 {
    Type::make(BASE) | BaseTicks::make(base / BASE_UNIT)
}

/// Returns the base of its record.
pub(crate) fn base_of(record: u64) -> u64 {
    BaseTicks::get(record) * BASE_UNIT
}

/// Returns the words of the function record that begins with `word`, or `None` if it is none.
#[inline(always)]
pub(crate) fn function_words(word: u64) -> Option<usize> {
    match Type::get(word) {
        CALL => Some(CALL_WORDS),
        BASE => Some(1),
        _ => None,
    }
}

/// Returns the header of an event with category and name of a call or a site.
pub(crate) fn event_header_of(word: u64, event_type: EventType, words: usize) -> u64 {
    event_header(event_type, words, 0, CHUNK_THREAD, StringRef::EMPTY, StringRef::EMPTY)
        | event::CategoryRef::make(Category::get(word))
        | event::NameRef::make(Name::get(word))
}

#[cfg(test)]
mod tests {
    use trace_format::layout::MAX_STRING_INDEX;

    use super::*;

    const FIRST: StringRef = StringRef::indexed(1);
    const LAST: StringRef = StringRef::indexed(MAX_STRING_INDEX);

    #[test]
    fn the_words_are_as_documented() {
        let word = FunctionWord::new(StringRef::indexed(1), StringRef::indexed(2)).unwrap();
        let ticks = RelativeTicks::new(1003, 1000).unwrap();
        assert_eq!(word.call(ticks), 1 << 63 | 3 << 34 | 2 << 19 | 1 << 4 | 12);
        assert_eq!(base_record(base_before(0x1234_5678_9abc_def9)), 0x1234_5678_9abc_defd);
        assert_eq!(base_of(0x1234_5678_9abc_defd), 0x1234_5678_9abc_def0);
        let ticks = 0x1234_5678_9abc_def9;
        let relative = RelativeTicks::new(ticks, base_before(ticks));
        assert_eq!(relative, Some(RelativeTicks::behind_base(ticks)));
        let words = [11, 12, 13, 14, 15, 0].map(function_words);
        assert_eq!(words, [None, Some(2), Some(1), None, None, None]);
        assert_eq!([12, 13].map(RecordType::from_bits), [None, None]);
    }

    #[test]
    fn ticks_have_29_bits() {
        let most = (1 << 29) - 1;
        let word = FunctionWord::new(LAST, LAST).unwrap();
        let call = word.call(RelativeTicks::new(7 + most, 7).unwrap());
        assert_eq!((call, Ticks::get(call)), (u64::MAX - 3, most));
        assert_eq!(RelativeTicks::new(8 + most, 7), None);
        assert_eq!(RelativeTicks::new(6, 7), None, "time went back");
        assert!(RelativeTicks::new(2, u64::MAX - 1).is_some());
    }

    #[test]
    fn a_word_of_a_site_is_negative_and_told_from_headers() {
        for word in [FunctionWord::new(LAST, LAST), FunctionWord::new(FIRST, FIRST)] {
            let bits = word.unwrap().bits();
            assert!((bits as i64) < 0);
            assert_eq!(FunctionWord::of_site(bits), word);
        }
        let header = event_header(EventType::DurationBegin, 0, 0, CHUNK_THREAD, LAST, LAST);
        assert_eq!(FunctionWord::of_site(header | 1 << 63), None, "of a watched site");
        let word = FunctionWord::new(LAST, LAST).unwrap();
        assert_eq!(word.event_header(), header);
    }

    #[test]
    fn names_in_the_record_have_no_function_records() {
        for name in [StringRef::inline(5), StringRef::EMPTY] {
            assert_eq!(FunctionWord::new(name, LAST), None);
            assert_eq!(FunctionWord::new(LAST, name), None);
        }
    }
}
