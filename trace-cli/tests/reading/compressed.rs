//! Compressed inputs and outputs.

use std::io::{Read, Write};

use crate::harness::{good, Place, Run};

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

#[test]
fn all_commands_read_compressed_archives() {
    let place = Place::new();
    place.put("plain", &good());
    place.put("gzip", &gzip(&good()));
    place.put("zstd", &zstd(&good()));
    for command in ["dump", "check", "stats"] {
        let expected = place.run(&[command, "plain"]);
        assert_eq!(expected.code, 0);
        for compressed in [gzip(&good()), zstd(&good())] {
            assert_eq!(place.run_with(&[command, "-"], &compressed), expected);
        }
        assert_eq!(place.run(&[command, "gzip"]), expected);
        assert_eq!(place.run(&[command, "zstd"]), expected);
    }
}

#[test]
fn outputs_are_compressed_by_their_names() {
    let place = Place::new();
    place.put("in.fxt.zst", &zstd(&good()));
    assert_eq!(place.run(&["convert", "in.fxt.zst", "-o", "out.json"]).code, 0);
    assert_eq!(place.run(&["convert", "in.fxt.zst", "-o", "out.json.gz"]).code, 0);
    assert_eq!(place.run(&["convert", "in.fxt.zst", "-o", "out.json.zst"]).code, 0);
    let plain = place.text("out.json");
    let gzip = std::fs::read(place.path("out.json.gz")).unwrap();
    let mut back = String::new();
    flate2::read::GzDecoder::new(&*gzip).read_to_string(&mut back).unwrap();
    assert_eq!(back, plain);
    let zstd = std::fs::read(place.path("out.json.zst")).unwrap();
    assert_eq!(zstd::decode_all(&*zstd).unwrap(), plain.as_bytes());
}

#[test]
fn damaged_compression_is_reported() {
    let place = Place::new();
    let said = |bytes: &[u8]| {
        place.put("in", bytes);
        let run = place.run(&["convert", "in", "-o", "out"]);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""));
        assert_eq!(place.names(), ["in"]);
        run.stderr
    };
    let (gzip, zstd) = (gzip(&good()), zstd(&good()));
    let cut = said(&gzip[..gzip.len() - 9]);
    assert!(cut.ends_with(": the gzip data is truncated\n"), "{cut}");
    let cut = said(&zstd[..zstd.len() - 1]);
    assert!(cut.ends_with(": the zstd data is truncated\n"), "{cut}");
    let damaged = said(b"\x1f\x8b\x08\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff");
    assert!(damaged.contains("the gzip data is damaged"), "{damaged}");
    let twice = said(&crate::compressed::gzip(&gzip));
    assert!(twice.contains("it is compressed twice: unpack it with gzip -d"), "{twice}");
}

/// As with a truncated archive.
#[test]
fn records_before_the_end_of_truncated_data_are_used() {
    let place = Place::new();
    let whole = crate::dump::large();
    place.put("whole", &whole);
    let lines = place.run(&["dump", "whole"]).stdout;
    for (kind, bytes) in [("gzip", gzip(&whole)), ("zstd", zstd(&whole))] {
        place.put("cut", &bytes[..bytes.len() / 2]);
        let dump = place.run(&["dump", "cut"]);
        assert_eq!(dump.code, 3, "{kind}");
        let (there, last) = dump.stdout.trim_end().rsplit_once('\n').unwrap();
        assert!(there.lines().count() > 10_000 && lines.starts_with(there), "{kind}");
        assert!(last.ends_with(&format!(": the {kind} data is truncated")), "{last}");
        let stats = place.run(&["stats", "cut"]);
        assert_eq!(stats.code, 3, "{kind}");
        let expected = format!("the {kind} data is truncated; the records before it are used");
        assert!(stats.stderr.contains(&expected), "{}", stats.stderr);
        assert_eq!(place.run(&["check", "cut"]).code, 1, "{kind}");
        assert_eq!(place.run(&["convert", "cut", "-o", "out.json"]).code, 3, "{kind}");
        assert!(serde_json::from_str::<serde_json::Value>(&place.text("out.json")).is_ok());
    }
}

#[test]
fn a_full_disk_is_reported() {
    let place = Place::new();
    place.put("in.fxt", &good());
    std::os::unix::fs::symlink("/dev/full", place.path("out.json.gz")).unwrap();
    let run = place.run(&["convert", "in.fxt", "-o", "out.json.gz"]);
    let stderr = "trace: cannot write out.json.gz: no space left on device\n".to_owned();
    assert_eq!(run, Run { code: 1, stdout: String::new(), stderr });
}

#[test]
fn recordings_are_compressed_at_the_end() {
    let place = Place::new();
    let run = place.run(&["record", "-o", "out.fxt.zst", "--", "true"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(place.names(), ["out.fxt.zst"]);
    let bytes = std::fs::read(place.path("out.fxt.zst")).unwrap();
    assert!(bytes.starts_with(b"\x28\xb5\x2f\xfd"));
    assert_eq!(place.run(&["check", "out.fxt.zst"]).code, 0);
}
