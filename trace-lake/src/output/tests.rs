use std::sync::Arc;

use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::*;
use crate::archive::Archive;
use crate::input::Input;
use crate::session;
use crate::subject::Subject;
use crate::testing;
use trace_format::{Argument, EventKind, Value};

fn bytes() -> Vec<u8> {
    let arguments = [Argument::new("a", Value::String("x,\"y\"".into()))];
    testing::archive(&[
        testing::event("one", 10, EventKind::DurationComplete { end: 30 }, &arguments),
        testing::complete("t\x1bwo", 40, 45),
    ])
}

fn written(sql: &str, format: Format) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("a.fxt");
    std::fs::write(&archive, bytes()).unwrap();
    let archive = Arc::new(Archive::new(Input::new(&archive, None).unwrap()));
    let subject = Subject::Archive(archive);
    let path = folder.path().join("out");
    let output = Output { format, path: Some(path.clone()) };
    let runtime = session::runtime().unwrap();
    runtime.block_on(async {
        let session = session::session(&subject, session::DEFAULT_MEMORY).await.unwrap();
        for statement in session.statements(sql).unwrap() {
            output.write(session.frame(statement).await.unwrap()).await.unwrap();
        }
    });
    std::fs::read(&path).unwrap()
}

fn text(sql: &str, format: Format) -> String {
    String::from_utf8(written(sql, format)).unwrap()
}

const SQL: &str = "SELECT name, dur_ns, parent_id, args FROM spans ORDER BY start_ns";

#[test]
fn tables_are_aligned_and_harmless() {
    let expected = "\
name       dur_ns  parent_id  args
one            20             {\"a\":\"x,\\\"y\\\"\"}
t\\u{1b}wo       5             {}
";
    assert_eq!(text(SQL, Format::Table), expected);
}

#[test]
fn csv_has_a_header_and_maps_as_json() {
    let expected = "name,dur_ns,parent_id,args\n\
        one,20,,\"{\"\"a\"\":\"\"x,\\\"\"y\\\"\"\"\"}\"\n\
        t\x1bwo,5,,{}\n";
    assert_eq!(text(SQL, Format::Csv), expected);
    assert_eq!(text("SELECT id FROM spans WHERE false", Format::Csv), "id\n");
}

#[test]
fn json_is_an_array_of_objects() {
    let rows: serde_json::Value = serde_json::from_str(&text(SQL, Format::Json)).unwrap();
    let expected = serde_json::json!([
        {"name": "one", "dur_ns": 20, "parent_id": null, "args": {"a": "x,\"y\""}},
        {"name": "t\u{1b}wo", "dur_ns": 5, "parent_id": null, "args": {}},
    ]);
    assert_eq!(rows, expected);
    assert_eq!(text("SELECT id FROM spans WHERE false", Format::Json), "[]\n");
}

#[test]
fn columns_of_joins_have_different_names() {
    let sql = "SELECT a.name, b.name FROM spans a JOIN spans b ON a.id < b.id";
    let rows: serde_json::Value = serde_json::from_str(&text(sql, Format::Json)).unwrap();
    assert_eq!(rows, serde_json::json!([{"name": "one", "name_1": "t\u{1b}wo"}]));
    assert_eq!(text(sql, Format::Csv), "name,name_1\none,t\x1bwo\n");
}

#[test]
fn parquet_is_compressed_and_has_the_version() {
    let bytes = written(SQL, Format::Parquet);
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).unwrap();
    let metadata = reader.metadata().clone();
    let version = metadata.file_metadata().key_value_metadata().unwrap();
    assert!(version.iter().any(|it| it.key == "trace.schema_version"));
    let column = metadata.row_group(0).column(1);
    assert!(matches!(column.compression(), datafusion::parquet::basic::Compression::ZSTD(_)));
    assert!(column.statistics().is_some());
    let rows: usize = reader.build().unwrap().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 2);
}

/// Statistics do not count NaN, which is above all numbers for the engine.
#[test]
fn real_numbers_have_no_statistics() {
    let bytes = written("SELECT dur_ns, dur_ns / 2.0 AS half FROM spans", Format::Parquet);
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).unwrap();
    let group = reader.metadata().row_group(0).clone();
    let has = |column: usize| group.column(column).statistics().is_some();
    assert_eq!((has(0), has(1)), (true, false));
}

/// Writers of formats make a text of it, and a pipe that is closed is no error of the program.
#[test]
fn the_error_of_an_output_is_that_of_the_system() {
    struct Closed;
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("a.fxt");
    std::fs::write(&archive, bytes()).unwrap();
    let archive = Arc::new(Archive::new(Input::new(&archive, None).unwrap()));
    let runtime = session::runtime().unwrap();
    for format in [Format::Table, Format::Csv, Format::Json, Format::Arrow, Format::Parquet] {
        let subject = Subject::Archive(archive.clone());
        let error = runtime.block_on(async {
            let session = session::session(&subject, session::DEFAULT_MEMORY).await.unwrap();
            let statement = session.statements(SQL).unwrap().into_iter().next().unwrap();
            let frame = session.frame(statement).await.unwrap();
            write_to(frame, format, Box::new(Closed)).await.unwrap_err()
        });
        let error = error.downcast_ref::<io::Error>().expect("an error of the system");
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe, "{format:?}");
    }
}

#[test]
fn arrow_is_a_stream() {
    let bytes = written(SQL, Format::Arrow);
    let reader = datafusion::arrow::ipc::reader::StreamReader::try_new(&*bytes, None).unwrap();
    let rows: usize = reader.map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 2);
}
