//! The header of a file, and what it points to.

use std::io::{self, Read, Seek, SeekFrom};

use super::attribute::Attribute;
use super::error::PerfDataError;
use super::features::{Description, FEATURES, TRACING_DATA};
use super::fields::{numbers, Fields};
use super::raw::{
    RawRecord, EVENT_UPDATE, HEADER_ATTR, HEADER_BUILD_ID, HEADER_FEATURE, HEADER_TRACING_DATA,
};
use super::sample::Attributes;
use super::stream::MAX_FORMATS;
use crate::byte_order::ByteOrder;

/// The magic numbers of either byte order, and that of the first version.
pub(super) const MAGIC: &[u8; 8] = b"PERFILE2";
pub(super) const SWAPPED_MAGIC: &[u8; 8] = b"2ELIFREP";
pub(super) const OLD_MAGIC: &[u8; 8] = b"PERFFILE";

/// The size of the header of a pipe, which has nothing but the magic number and this size.
pub(super) const PIPE_BYTES: usize = 16;

/// The size of the header of a file.
const FILE_BYTES: usize = 104;

/// The size of a place in the file: its offset and its size.
const PLACE_BYTES: u64 = 16;

/// The type of `EVENT_UPDATE` that has a name.
const UPDATE_NAME: u64 = 2;

/// The most bytes of events and their ids.
const MAX_ATTRIBUTES: u64 = 16 << 20;

/// The place of a part of the file, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) offset: u64,
    pub(super) size: u64,
}

/// What a file has beside its records.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) attributes: Attributes,
    pub(super) description: Description,
    /// Why descriptions are missing. The records do not need them.
    pub(super) fault: Option<PerfDataError>,
}

impl Contents {
    /// Adds what a record of perf itself has, as in the output of a pipe.
    pub(super) fn add(
        &mut self,
        record: &RawRecord,
        order: ByteOrder,
    ) -> Result<(), PerfDataError> {
        let Self { attributes, description, fault } = self;
        let malformed = || PerfDataError::Record { offset: record.offset };
        let mut fields = Fields::new(&record.body, order);
        let added = match record.kind {
            HEADER_ATTR => {
                let attribute = Attribute::parse_with_ids(&record.body, order);
                attributes.add(attribute.ok_or_else(malformed)?)?;
                Ok(())
            }
            HEADER_FEATURE => {
                let number = fields.u64().and_then(|number| u32::try_from(number).ok());
                let number = number.ok_or_else(malformed)?;
                description.add(number, fields.rest, attributes, order)
            }
            HEADER_TRACING_DATA => description.add(TRACING_DATA, &record.body, attributes, order),
            HEADER_BUILD_ID => description.build_id(record.misc, fields).ok_or_else(malformed),
            EVENT_UPDATE => {
                let (kind, id) = fields.u64().zip(fields.u64()).ok_or_else(malformed)?;
                if kind == UPDATE_NAME {
                    attributes.rename(id, fields.until_zero())?;
                }
                Ok(())
            }
            _ => Ok(()),
        };
        // Records do not need descriptions.
        if let Err(error) = added {
            fault.get_or_insert(error);
        }
        Ok(())
    }
}

/// Returns the byte order of a file, and whether it was written to a pipe, by its first 16 bytes.
pub(super) fn kind(start: &[u8]) -> Result<(ByteOrder, bool), PerfDataError> {
    let order = match start.first_chunk::<8>() {
        Some(MAGIC) => ByteOrder::Little,
        Some(SWAPPED_MAGIC) => ByteOrder::Big,
        Some(OLD_MAGIC) => return Err(PerfDataError::OldFormat),
        _ => return Err(PerfDataError::NoMagic),
    };
    let size = order.number_at(start, 8, 8);
    let size = size.ok_or(io::Error::from(io::ErrorKind::UnexpectedEof))?;
    Ok((order, size == PIPE_BYTES as u64))
}

/// Reads the contents of a file, and the place of its records. Their size is 0 if perf was killed.
pub(super) fn read<R: Read + Seek>(
    input: &mut R,
    order: ByteOrder,
) -> Result<(Contents, Section), PerfDataError> {
    let header = bytes(input, Section { offset: 0, size: FILE_BYTES as u64 })?;
    let mut fields = Fields::new(&header, order);
    let malformed = || PerfDataError::Malformed("header");
    let (_magic, _size) = (fields.u64(), fields.u64());
    let size = fields.u64().ok_or_else(malformed)?;
    let events = section(&mut fields).ok_or_else(malformed)?;
    let data = section(&mut fields).ok_or_else(malformed)?;
    let _old_names = section(&mut fields);
    let mut contents = Contents::default();
    read_attributes(input, events, size, order, &mut contents.attributes)?;
    contents.attributes.check()?;
    let features = fields.rest;
    contents.fault = match (data.size, data.offset.checked_add(data.size)) {
        (0, _) => None,
        (_, None) => return Err(malformed()),
        (_, Some(end)) => read_features(input, end, features, order, &mut contents).err(),
    };
    match contents.fault {
        Some(PerfDataError::Directory) => Err(PerfDataError::Directory),
        _ => Ok((contents, data)),
    }
}

/// Reads the events: each is a structure with the place of its ids.
fn read_attributes<R: Read + Seek>(
    input: &mut R,
    events: Section,
    size: u64,
    order: ByteOrder,
    attributes: &mut Attributes,
) -> Result<(), PerfDataError> {
    let malformed = || PerfDataError::Malformed("list of events");
    let too_large = || PerfDataError::TooLarge("list of events");
    let mut rest = MAX_ATTRIBUTES.checked_sub(events.size).ok_or_else(too_large)?;
    let length = size.checked_sub(PLACE_BYTES).and_then(|length| usize::try_from(length).ok());
    let list = bytes(input, events)?;
    let mut fields = Fields::new(&list, order);
    while !fields.rest.is_empty() {
        let event = length.and_then(|length| fields.bytes(length)).ok_or_else(malformed)?;
        let ids = section(&mut fields).ok_or_else(malformed)?;
        rest = rest.checked_sub(ids.size).ok_or_else(too_large)?;
        let ids = numbers(&bytes(input, ids)?, order).collect();
        let attribute = Attribute::parse(event, order).ok_or_else(malformed)?;
        attributes.add(Attribute { ids, ..attribute })?;
    }
    Ok(())
}

/// Reads the descriptions behind the records: their places, in the order of their numbers.
fn read_features<R: Read + Seek>(
    input: &mut R,
    offset: u64,
    flags: &[u8],
    order: ByteOrder,
    contents: &mut Contents,
) -> Result<(), PerfDataError> {
    let flags: Vec<u64> = numbers(flags, order).collect();
    let is_set = |number: &u32| {
        let flags = flags.get(*number as usize / 64).copied().unwrap_or(0);
        flags >> (number % 64) & 1 != 0
    };
    let present: Vec<u32> = (0..FEATURES).filter(is_set).collect();
    let places = bytes(input, Section { offset, size: present.len() as u64 * PLACE_BYTES })?;
    let mut places = Fields::new(&places, order);
    let mut fault = Ok(());
    for number in present {
        let place = section(&mut places).ok_or(PerfDataError::Malformed("list of descriptions"))?;
        let added = match Description::uses(number) {
            true => read_feature(input, number, place, order, contents),
            false => check_end(input, place),
        };
        fault = fault.and(added);
    }
    fault
}

fn read_feature<R: Read + Seek>(
    input: &mut R,
    number: u32,
    place: Section,
    order: ByteOrder,
    contents: &mut Contents,
) -> Result<(), PerfDataError> {
    if place.size > MAX_FORMATS {
        return Err(PerfDataError::TooLarge("description of the recording"));
    }
    let bytes = bytes(input, place)?;
    contents.description.add(number, &bytes, &mut contents.attributes, order)
}

/// Checks that the file has a part that is not used.
fn check_end<R: Seek>(input: &mut R, place: Section) -> Result<(), PerfDataError> {
    let length = input.seek(SeekFrom::End(0))?;
    match place.offset.checked_add(place.size) {
        Some(end) if end <= length => Ok(()),
        _ => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
    }
}

fn section(fields: &mut Fields<'_>) -> Option<Section> {
    Some(Section { offset: fields.u64()?, size: fields.u64()? })
}

/// Goes to a place of the file. One beyond all files is an end of the file.
pub(super) fn seek<R: Seek>(input: &mut R, offset: u64) -> Result<(), PerfDataError> {
    match i64::try_from(offset) {
        Ok(_) => Ok(input.seek(SeekFrom::Start(offset)).map(drop)?),
        Err(_) => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
    }
}

/// Reads a part of the file. Memory grows with the bytes that there are.
fn bytes<R: Read + Seek>(input: &mut R, place: Section) -> Result<Vec<u8>, PerfDataError> {
    let mut bytes = Vec::new();
    seek(input, place.offset)?;
    input.by_ref().take(place.size).read_to_end(&mut bytes)?;
    match bytes.len() as u64 == place.size {
        true => Ok(bytes),
        false => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
    }
}
