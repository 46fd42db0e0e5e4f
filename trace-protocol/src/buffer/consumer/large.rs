//! Large records.

use trace_format::layout::{large, large_blob, LargeBlobFormat, LargeType};

use super::check::{
    bytes, check_arguments, check_string_ref, check_thread_ref, skip, word, Registered,
};
use super::cursor::Cursor;
use super::stats::Rejection;

pub(super) fn check_large(
    tables: &impl Registered,
    header: u64,
    cursor: &mut Cursor<'_>,
) -> Result<(), Rejection> {
    LargeType::from_bits(large::Type::get(header)).ok_or(Rejection::Content)?;
    let format =
        LargeBlobFormat::from_bits(large::BlobFormat::get(header)).ok_or(Rejection::Content)?;
    let refs = word(cursor)?;
    check_string_ref(tables, large_blob::CategoryRef::get(refs), cursor)?;
    check_string_ref(tables, large_blob::NameRef::get(refs), cursor)?;
    if format == LargeBlobFormat::Event {
        skip(cursor, 1)?;
        check_thread_ref(tables, large_blob::ThreadRef::get(refs), 2, cursor)?;
        check_arguments(tables, large_blob::ArgumentCount::get(refs), cursor)?;
    }
    let length = word(cursor)?;
    bytes(cursor, length)
}
