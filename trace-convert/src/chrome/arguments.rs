//! Arguments and their values.

use trace_format::{Argument, Arguments, Item, Value};

use super::exporter::JsonExporter;

/// The start of a reference to an object, before its id.
pub(super) const ID_REF: &str = "{\"id_ref\":";

impl JsonExporter {
    /// Adds the arguments of an event, if it has any.
    #[inline]
    pub(super) fn arguments<'a>(&mut self, item: &Item<'a>, arguments: &Arguments<'a>) {
        if !arguments.is_empty() {
            self.any_arguments(item, arguments);
        }
    }

    /// Adds arguments. Out of line, because most events have none.
    #[inline(never)]
    fn any_arguments<'a>(&mut self, item: &Item<'a>, arguments: &Arguments<'a>) {
        let mut arguments = arguments.iter().peekable();
        // All may be of unknown types.
        if arguments.peek().is_some() {
            self.begin_arguments();
            self.more_arguments(item, arguments);
            self.end_arguments();
        }
    }

    #[inline]
    pub(super) fn begin_arguments(&mut self) {
        self.json.raw(",\"args\":");
        self.json.begin_object();
    }

    #[inline]
    pub(super) fn end_arguments(&mut self) {
        self.json.raw("}");
    }

    #[inline]
    pub(super) fn more_arguments<'a>(
        &mut self,
        item: &Item<'a>,
        arguments: impl IntoIterator<Item = Argument<'a>>,
    ) {
        for argument in arguments {
            self.json.key(&item.text(argument.name));
            let is_link = self.objects.is_object(item, argument.value);
            self.json.raw(if is_link { ID_REF } else { "" });
            self.value(item, argument.value);
            self.json.raw(if is_link { "}" } else { "" });
        }
    }

    #[inline]
    pub(super) fn value<'a>(&mut self, item: &Item<'a>, value: Value<'a>) {
        match value {
            Value::Null => self.json.raw("null"),
            Value::Int32(value) => self.json.signed(value.into()),
            Value::Uint32(value) => self.json.unsigned(value.into()),
            Value::Int64(value) => self.json.safe_signed(value),
            Value::Uint64(value) => self.json.safe_unsigned(value),
            Value::Double(value) => self.json.double(value),
            Value::String(value) => self.json.string(&item.text(value)),
            Value::Pointer(value) => self.json.hex(value),
            Value::Koid(value) => self.json.koid(value),
            Value::Bool(true) => self.json.raw("true"),
            Value::Bool(false) => self.json.raw("false"),
            Value::Blob(value) => self.json.base64(value),
        }
    }

    /// Adds the values of a counter. Viewers draw only numbers.
    pub(super) fn counter_values<'a>(&mut self, item: &Item<'a>, arguments: &Arguments<'a>) {
        self.begin_arguments();
        for argument in arguments {
            if !argument.value.number().is_some_and(f64::is_finite) {
                self.conversion.counter_values_left_out += 1;
                continue;
            }
            self.json.key(&item.text(argument.name));
            match argument.value {
                Value::Int64(value) => self.json.signed(value),
                Value::Uint64(value) => self.json.unsigned(value),
                value => self.value(item, value),
            }
        }
        self.end_arguments();
    }
}
