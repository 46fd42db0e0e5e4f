//! The format of an event.

use super::declaration::Declaration;
use super::error::{FormatError, FormatFault};
use super::field::{Field, Value};
use super::symbols::symbols;
use crate::byte_order::ByteOrder;

/// The format of an event: its name, its id and its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventFormat {
    /// Its system, such as `sched`.
    pub system: Box<str>,
    /// Its name, such as `sched_switch`.
    pub name: Box<str>,
    /// The number at the start of its payload. It differs from kernel to kernel.
    pub id: u16,
    /// The fields that all events have, such as `common_pid`.
    pub common: Vec<Field>,
    /// Its own fields.
    pub fields: Vec<Field>,
    /// The names of numbers that its text form has, such as `1` for `S` in `sched_switch`.
    pub symbols: Vec<(u64, Box<str>)>,
}

impl EventFormat {
    /// Parses a file `events/SYSTEM/NAME/format`.
    ///
    /// # Errors
    ///
    /// The file lacks a name or an id, or a field is malformed.
    pub fn parse(system: &str, text: &str) -> Result<Self, FormatError> {
        let (mut name, mut id) = (None, None);
        let (mut common, mut fields, mut print) = (Vec::new(), Vec::new(), "");
        for (number, line) in text.lines().enumerate() {
            let error = |fault| FormatError { line: number + 1, fault };
            if let Some(text) = line.strip_prefix("name:") {
                name = Some(text.trim()).filter(|name| !name.is_empty());
            } else if let Some(text) = line.strip_prefix("ID:") {
                id = Some(text.trim().parse().map_err(|_| error(FormatFault::NoId))?);
            } else if let Some(text) = line.strip_prefix("print fmt:") {
                print = text;
            } else if let Some(declaration) = Declaration::parse(line) {
                let field = declaration.and_then(|it| Field::new(&it)).map_err(error)?;
                let is_common = field.name.starts_with("common_");
                if is_common { &mut common } else { &mut fields }.push(field);
            }
        }
        let missing = |fault| FormatError { line: 0, fault };
        Ok(Self {
            system: system.into(),
            name: name.ok_or(missing(FormatFault::NoName))?.into(),
            id: id.ok_or(missing(FormatFault::NoId))?,
            common,
            fields,
            symbols: symbols(print),
        })
    }

    /// Returns the field with this name, common or its own.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.common.iter().chain(&self.fields).find(|field| &*field.name == name)
    }

    /// Returns its own fields and their values in a payload. Fields beyond the payload's end are
    /// left out.
    pub fn values<'a>(
        &'a self,
        payload: &'a [u8],
        order: ByteOrder,
    ) -> impl Iterator<Item = (&'a str, Value<'a>)> {
        let value = move |field: &'a Field| Some((&*field.name, field.value(payload, order)?));
        self.fields.iter().filter_map(value)
    }

    /// Returns the name that the text form has for a number.
    #[must_use]
    pub fn symbol(&self, number: u64) -> Option<&str> {
        self.symbols.iter().find(|(value, _)| *value == number).map(|(_, name)| &**name)
    }
}
