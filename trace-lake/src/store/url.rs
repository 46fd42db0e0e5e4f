//! Names of stores in plans: URLs that have the path or URL of the store in hexadecimal digits, so
//! that a machine that gets a plan can open it.

use datafusion::error::Result;
use datafusion::execution::object_store::ObjectStoreUrl;

/// The scheme of the URLs.
const SCHEME: &str = "trace-store";

/// Returns the URL of a store.
pub(crate) fn url_of(name: &str) -> Result<ObjectStoreUrl> {
    let digits: String = name.bytes().map(|byte| format!("{byte:02x}")).collect();
    ObjectStoreUrl::parse(format!("{SCHEME}://{digits}"))
}

/// Returns the name of the store that a URL has, or `None` if it is not one of a store.
#[cfg(feature = "cluster")]
pub(crate) fn name_of(url: &url::Url) -> Option<String> {
    let digits = url.host_str().filter(|_| url.scheme() == SCHEME)?.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    String::from_utf8(bytes?).ok()
}

#[cfg(all(test, feature = "cluster"))]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_the_name_of_its_store() {
        for name in ["/srv/traces", "s3://bucket/all of them/", "größe", "A:b@c"] {
            let url = url_of(name).unwrap();
            assert_eq!(name_of(url.as_ref()).as_deref(), Some(name));
        }
        let other = ObjectStoreUrl::parse("s3://bucket").unwrap();
        assert_eq!(name_of(other.as_ref()), None);
        let damaged = ObjectStoreUrl::parse("trace-store://7x").unwrap();
        assert_eq!(name_of(damaged.as_ref()), None);
    }
}
