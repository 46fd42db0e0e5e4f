//! Names of objects.

use std::ffi::OsStr;

use object_store::path::Path;
use trace_protocol::file::random_name;

use super::state::Partition;

/// Returns a name that no other object has, of 16 hexadecimal digits.
pub(crate) fn random() -> String {
    random_name(OsStr::new(""), "").to_string_lossy().into_owned()
}

/// Returns the path of a file, with its partition in the form that Hive has introduced.
pub(crate) fn file(table: &str, partition: &Partition, name: &str) -> String {
    let Partition { day, host, service } = partition;
    let (host, service) = (escaped(host), escaped(service));
    format!("{table}/day={day}/host={host}/service={service}/{name}.parquet")
}

/// Returns the path of an object in the store.
pub(crate) fn path(text: &str) -> Path {
    // The parts are escaped: another escape would be read as another value.
    Path::parse(text).unwrap_or_else(|_| Path::from(text))
}

/// Escapes what is not a letter, a digit, `-`, `_` or `.` as `%20`, as readers of partitions
/// expect.
fn escaped(value: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let escape = |byte: u8| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    value.bytes().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_partitions_are_escaped() {
        let partition = Partition {
            day: "2026-11-29".to_owned(),
            host: "a/b".to_owned(),
            service: "x y=ü%#1".to_owned(),
        };
        let text = file("spans", &partition, "f");
        let expected = "spans/day=2026-11-29/host=a%2Fb/service=x%20y%3D%C3%BC%25%231/f.parquet";
        assert_eq!(text, expected);
        assert_eq!(path(&text).as_ref(), expected);
    }
}
