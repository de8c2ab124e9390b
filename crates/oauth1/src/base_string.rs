//! The signature base string of RFC 5849, section 3.4.1.

use crate::encoding::{encode_into, encode_twice_into};
use crate::parameters::Parameters;

/// The address without query: scheme and host in lower case, without the scheme's default port, the path as
/// sent.
pub(crate) fn base_uri(origin: &str, path: &str) -> String {
    let mut uri = String::with_capacity(origin.len() + path.len() + 1);
    uri.push_str(origin.trim_end_matches('/'));
    uri.make_ascii_lowercase();
    let own_port = if uri.starts_with("https:") { ":443" } else { ":80" };
    if uri.ends_with(own_port) {
        uri.truncate(uri.len() - own_port.len());
    }
    uri.push_str(if path.is_empty() { "/" } else { path });
    uri
}

/// The method, the address and the sorted parameters, each encoded, joined by `&`.
pub(crate) fn base_string(http_method: &str, base_uri: &str, parameters: &Parameters) -> String {
    // Half as much again for escapes: a guess that fits most requests.
    let plain = http_method.len() + base_uri.len() + parameters.length();
    let mut out = String::with_capacity(plain + plain / 2 + 64);
    encode_into(&mut out, http_method.as_bytes());
    out.push('&');
    encode_into(&mut out, base_uri.as_bytes());
    out.push('&');
    for (number, (name, value)) in parameters.iter().enumerate() {
        if number > 0 {
            out.push_str("%26");
        }
        encode_twice_into(&mut out, name);
        out.push_str("%3D");
        encode_twice_into(&mut out, value);
    }
    out
}
