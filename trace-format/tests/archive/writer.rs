//! Archives that the writer writes.

use std::error::Error;
use std::io::{self, Write};

use trace_format::layout::ProviderEvent;
use trace_format::{
    encode, Argument, Arguments, EncodeError, Event, Reader, Record, Text, Thread, Value,
    WriteError, Writer,
};

use crate::{event, lines, SECTION_1};

#[test]
fn written_records_are_read() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(7, "server").unwrap();
    writer.initialization(1_000_000).unwrap();
    let arguments = [Argument::new("size", Value::Int32(9))];
    writer.record(&event(3, "net", "send", (&arguments).into())).unwrap();
    writer.record(&event(4, "net", "send", Arguments::NONE)).unwrap();
    writer.provider_event(7, ProviderEvent::BUFFER_FULL).unwrap();
    writer.section(8).unwrap();
    writer.section(8).unwrap();
    writer.record(&event(5, "", "send", Arguments::NONE)).unwrap();
    writer.flush().unwrap();
    let archive = writer.into_inner();
    let expected = [
        "112: Some(7) \"server\" 3000 ns 12/34 net send size=Int32(9)",
        "136: Some(7) \"server\" 4000 ns 12/34 net send",
        "208: Some(8) \"\" 5 ns 12/34  send",
    ];
    assert_eq!(lines(Reader::new(&*archive)), expected);
}

#[test]
fn foreign_indices_are_refused() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let index_of = |error| match error {
        Err(WriteError::Encode(EncodeError::Index { index })) => index,
        other => panic!("{other:?}"),
    };
    let Record::Event(good) = event(1, "a", "b", Arguments::NONE) else { unreachable!() };
    let bad = Event { name: Text::Indexed(5), ..good };
    assert_eq!(index_of(writer.record(&bad.into())), 5);
    let bad = Event { thread: Thread::Indexed(6), ..good };
    assert_eq!(index_of(writer.record(&bad.into())), 6);
    let arguments = [Argument::new("x", Value::String(Text::Indexed(7)))];
    let bad = Event { arguments: (&arguments).into(), ..good };
    assert_eq!(index_of(writer.record(&bad.into())), 7);
    let string = Record::String { index: 8, value: b"x" };
    assert_eq!(index_of(writer.record(&string)), 8);
    writer.record(&good.into()).unwrap();
    let long = "x".repeat(32_000);
    let arguments = [Argument::new("x", Value::Blob(long.as_bytes())); 2];
    let too_long = Event { arguments: (&arguments).into(), ..good };
    let error = writer.record(&too_long.into());
    assert!(matches!(error, Err(WriteError::Encode(EncodeError::RecordTooLong { .. }))));
    writer.record(&good.into()).unwrap();
    assert_eq!(lines(Reader::new(&*writer.into_inner())).len(), 2);
}

#[test]
fn an_output_is_flushed_and_returned() {
    #[derive(Default)]
    struct Output {
        bytes: Vec<u8>,
        flushes: usize,
    }

    impl Write for Output {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.bytes.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            self.flushes += 1;
            Ok(())
        }
    }

    let mut writer = Writer::new(Output::default()).unwrap();
    writer.flush().unwrap();
    assert_eq!((writer.output_mut().bytes.len(), writer.output_mut().flushes), (8, 1));
    writer.output_mut().bytes.clear();
    writer.section(1).unwrap();
    assert_eq!(writer.into_inner().bytes, encode::to_bytes(&[SECTION_1]));
}

#[test]
fn an_error_of_the_output_is_returned() {
    let error = Writer::new(&mut [0; 7][..]).unwrap_err();
    assert_eq!(error.to_string(), "cannot write the trace");
    assert!(error.source().unwrap().to_string().contains("failed to write whole buffer"));
    let error = WriteError::from(EncodeError::TooManyArguments);
    assert_eq!(error.to_string(), "a record cannot be encoded");
    assert_eq!(error.source().unwrap().to_string(), "a record has more than 15 arguments");
}

#[test]
fn a_record_has_at_most_15_arguments() {
    let arguments: Vec<_> = (0..16).map(|n| Argument::new("n", Value::Uint32(n))).collect();
    let mut writer = Writer::new(Vec::new()).unwrap();
    for count in [0, 1, 4, 5, 15] {
        writer.record(&event(1, "c", "n", arguments[..count].into())).unwrap();
    }
    let error = writer.record(&event(1, "c", "n", arguments[..].into()));
    assert!(matches!(error, Err(WriteError::Encode(EncodeError::TooManyArguments))));
    let archive = writer.into_inner();
    let (mut reader, mut values) = (Reader::new(&*archive), Vec::<Vec<u64>>::new());
    while let Some(item) = reader.next().unwrap() {
        if let Record::Event(event) = item.record {
            let arguments = event.arguments.iter();
            values.push(arguments.filter_map(|argument| argument.value.unsigned()).collect());
        }
    }
    let expected = [0, 1, 4, 5, 15].map(|count| (0..count).collect::<Vec<u64>>());
    assert_eq!(values, expected);
}
