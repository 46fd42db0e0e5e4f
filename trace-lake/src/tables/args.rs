//! Arguments, a row for each.

use std::collections::HashMap;

use datafusion::error::Result;
use trace_format::Item;

use super::events::EventSink;
use super::{Emit, EventReader, EventRow, Table};
use crate::archive::Archive;
use crate::columns::{column, Kind};
use crate::source::{Events, Output, RecordReader, Source};

pub(super) static TABLE: Table = Table {
    name: "arguments",
    about: "An argument of a span, an instant, a flow event or an operation",
    columns: &[
        column("owner_id", Kind::Int, "the id of its span, instant, flow event or operation"),
        column("owner", Kind::Text, "`span`, `instant`, `flow` or `operation`"),
        column("key", Kind::Text, "the name"),
        column(
            "type",
            Kind::Text,
            "`int`, `uint`, `real`, `string`, `bool`, `pointer`, `koid`, `null` or `blob`",
        ),
        column(
            "int_value",
            Kind::Int,
            "an integer, pointer, koid or bool (one beyond 2^63 - 1 is negative), or NULL",
        ),
        column("real_value", Kind::Real, "a floating-point number, or NULL"),
        column("string_value", Kind::Text, "a string, or NULL"),
        column("text", Kind::Text, "the value as text, as in the map `args`"),
    ],
    time: None,
    source: Source::Records(reader),
};

/// All events that have rows.
const EVENTS: Events = Events { spans: true, instants: true, flows: true, operations: true };

struct Arguments<'a>(EventReader<'a>);

fn reader(_: &Archive) -> Result<Box<dyn RecordReader + '_>> {
    Ok(Box::new(Arguments(EventReader::with_args(EVENTS))))
}

impl RecordReader for Arguments<'_> {
    fn record(&mut self, item: &Item<'_>, number: i64, output: &mut Output) -> Result<()> {
        self.0.record(item, number, &mut Sink(output))
    }

    fn finish(&mut self, output: &mut Output) -> Result<()> {
        self.0.finish(&mut Sink(output))
    }
}

struct Sink<'a>(&'a mut Output);

impl EventSink for Sink<'_> {
    fn row(&mut self, row: &EventRow<'_>) -> Result<()> {
        write(row, self.0)
    }
}

/// The values of one key by the ids of their owners.
struct Values<'a> {
    key: &'a str,
    values: HashMap<i64, Option<String>>,
}

impl EventSink for Values<'_> {
    fn row(&mut self, row: &EventRow<'_>) -> Result<()> {
        let mut arguments = row.args.iter();
        if let Some(argument) = arguments.find(|argument| argument.key == self.key) {
            self.values.insert(row.id, argument.value.text());
        }
        Ok(())
    }
}

/// Returns the values of a key by the ids of their owners.
pub(crate) fn values_of(archive: &Archive, key: &str) -> Result<HashMap<i64, Option<String>>> {
    let mut values = Values { key, values: HashMap::new() };
    let mut reader = EventReader::with_args(EVENTS);
    archive.each(|item, number| reader.record(item, number, &mut values))?;
    reader.finish(&mut values)?;
    Ok(values.values)
}

fn write(row: &EventRow<'_>, output: &mut Output) -> Result<()> {
    let owner = match row.kind {
        Emit::Span => "span",
        Emit::Instant => "instant",
        Emit::Flow => "flow",
        Emit::Operation => "operation",
    };
    for argument in row.args {
        let text = argument.value.text();
        let rows = &mut output.rows;
        rows.int(row.id);
        rows.text(owner);
        rows.text(&*argument.key);
        rows.text(argument.value.kind());
        rows.int(argument.value.int());
        rows.real(argument.value.real());
        rows.text(text.as_deref().filter(|_| argument.value.kind() == "string"));
        rows.text(text.as_deref());
        output.end()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use trace_format::{Argument, EventKind, Value};

    use crate::testing::{archive, event, query};

    #[test]
    fn each_type_has_its_columns() {
        let values = [
            ("int", Value::Int64(-5)),
            ("uint", Value::Uint64(u64::MAX)),
            ("real", Value::Double(0.5)),
            ("string", Value::String("text".into())),
            ("bool", Value::Bool(true)),
            ("pointer", Value::Pointer(0x1f)),
            ("koid", Value::Koid(7)),
            ("null", Value::Null),
        ];
        let arguments = values.map(|(name, value)| Argument::new(name, value));
        let bytes = archive(&[event("i", 1, EventKind::Instant { scope: None }, &arguments)]);
        let sql = "SELECT owner, key, type, int_value, real_value, string_value, text \
            FROM arguments";
        assert_eq!(
            query(&bytes, sql),
            [
                "instant|int|int|-5|||-5",
                "instant|uint|uint|-1|||18446744073709551615",
                "instant|real|real||0.5||0.5",
                "instant|string|string|||text|text",
                "instant|bool|bool|1|||true",
                "instant|pointer|pointer|31|||0x1f",
                "instant|koid|koid|7|||7",
                "instant|null|null||||",
            ]
        );
    }
}
