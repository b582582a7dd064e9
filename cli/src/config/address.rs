//! Addresses at which models are asked: what one may hold, who is near, how Ollama names its own.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The port of Ollama where none is named.
const OLLAMA_PORT: u16 = 11434;

/// Longest host name that the domain name system has.
const HOST_BYTES_MAX: usize = 253;

/// The address of a server: scheme, host, port and path, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    text: String,
    encrypted: bool,
    host: String,
}

/// Why a text is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AddressError {
    #[error("it does not begin with http:// or https://")]
    Scheme,
    #[error("it holds a user or a password: a key stands in key_env or key_file")]
    User,
    #[error("it holds a query or a fragment")]
    Query,
    #[error("it holds a space, or a character that is not plain ASCII")]
    Letters,
    #[error("its host is no name and no address")]
    Host,
    #[error("its port is no number from 1 to 65535")]
    Port,
}

impl Address {
    /// Reads an address; a `/` at its end counts for nothing.
    pub(crate) fn parse(text: &str) -> Result<Self, AddressError> {
        let (scheme, rest) = text.split_once("://").ok_or(AddressError::Scheme)?;
        let scheme = scheme.to_ascii_lowercase();
        let encrypted = match scheme.as_str() {
            "https" => true,
            "http" => false,
            _ => return Err(AddressError::Scheme),
        };
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        if authority.contains('@') {
            return Err(AddressError::User);
        }
        if rest.contains(['?', '#']) {
            return Err(AddressError::Query);
        }
        if !rest.bytes().all(|byte| byte.is_ascii_graphic()) || rest.contains(['\\', '"', '<', '>'])
        {
            return Err(AddressError::Letters);
        }
        let (host, port) = split(authority)?;
        let host = host.to_ascii_lowercase();
        let port = port.map_or_else(String::new, |port| format!(":{port}"));
        let path = path.trim_end_matches('/');
        Ok(Self {
            text: format!("{scheme}://{host}{port}{path}"),
            encrypted,
            host,
        })
    }

    /// The address that `OLLAMA_HOST` names, as Ollama itself reads it: a host, a host and a port,
    /// or a URL; its API in the manner of `OpenAI` lies beneath `/v1`.
    pub(crate) fn of_ollama(text: &str) -> Result<Self, AddressError> {
        let text = text.trim().trim_matches(['"', '\'']).trim();
        let (scheme, rest, port) = match text.split_once("://") {
            None if text == "ollama.com" => ("https", text, 443),
            None => ("http", text, OLLAMA_PORT),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => ("http", rest, 80),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => ("https", rest, 443),
            Some(_) => return Err(AddressError::Scheme),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.contains('@') {
            return Err(AddressError::User);
        }
        let (host, port) = ollama_authority(authority, port);
        let path = path.trim_end_matches('/');
        let slash = if path.is_empty() { "" } else { "/" };
        Self::parse(&format!("{scheme}://{host}:{port}{slash}{path}/v1"))
    }

    /// The whole of it.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether others on the way can read along.
    pub(crate) fn is_readable_by_others(&self) -> bool {
        !self.encrypted && !is_near(&self.host)
    }
}

/// Host and port of an authority; IPv6 stands in brackets.
fn split(authority: &str) -> Result<(&str, Option<u16>), AddressError> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (address, rest) = rest.split_once(']').ok_or(AddressError::Host)?;
            address
                .parse::<Ipv6Addr>()
                .map_err(|_| AddressError::Host)?;
            let host = authority.get(..address.len().saturating_add(2));
            let port = match rest.strip_prefix(':') {
                Some(port) => Some(port),
                None if rest.is_empty() => None,
                None => return Err(AddressError::Host),
            };
            (host.ok_or(AddressError::Host)?, port)
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    if !host.starts_with('[') && !is_host(host) {
        return Err(AddressError::Host);
    }
    let port = match port {
        None => None,
        Some(port) => {
            let digits = port.bytes().all(|byte| byte.is_ascii_digit());
            let number = port.parse().ok().filter(|number| digits && *number != 0);
            Some(number.ok_or(AddressError::Port)?)
        }
    };
    Ok((host, port))
}

fn is_host(host: &str) -> bool {
    let label = |label: &str| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        !label.is_empty() && !label.starts_with('-') && label.bytes().all(known)
    };
    host.len() <= HOST_BYTES_MAX && host.trim_end_matches('.').split('.').all(label)
}

/// Host and port as Ollama reads them: what is no port is none, and where no host is named it is
/// this machine. Where Ollama listens on every address, it is asked on this machine.
fn ollama_authority(authority: &str, default: u16) -> (String, u16) {
    let (host, port) = match authority.rsplit_once(':') {
        // Several colons without brackets are an IPv6 address.
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
            (host, port.parse().ok().filter(|port| *port != 0))
        }
        Some(_) | None => (authority, None),
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let host = match bare.parse::<IpAddr>() {
        Ok(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.to_string(),
        Ok(IpAddr::V6(address)) => format!("[{address}]"),
        Ok(IpAddr::V4(address)) => address.to_string(),
        Err(_) if host.is_empty() => Ipv4Addr::LOCALHOST.to_string(),
        Err(_) => host.to_owned(),
    };
    (host, port.unwrap_or(default))
}

/// Whether a host is this machine or one of a private network.
fn is_near(host: &str) -> bool {
    let name = host.trim_end_matches('.');
    if name == "localhost" || name.ends_with(".localhost") {
        return true;
    }
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => is_near_v4(address),
        Ok(IpAddr::V6(address)) => {
            let mapped = address.to_ipv4_mapped().is_some_and(is_near_v4);
            let near = address.is_loopback()
                || address.is_unique_local()
                || address.is_unicast_link_local();
            near || mapped
        }
        Err(_) => false,
    }
}

const fn is_near_v4(address: Ipv4Addr) -> bool {
    address.is_loopback() || address.is_private() || address.is_link_local()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_scheme_host_port_and_path() {
        for (text, read) in [
            ("https://api.openai.com/v1", "https://api.openai.com/v1"),
            ("HTTPS://API.openai.com/v1/", "https://api.openai.com/v1"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("http://[::1]:8080/v1//", "http://[::1]:8080/v1"),
            ("http://gpu_box/v1", "http://gpu_box/v1"),
        ] {
            let address = Address::parse(text);
            assert_eq!(
                address.map(|address| address.text),
                Ok(read.to_owned()),
                "{text}"
            );
        }
        for (text, why) in [
            ("api.openai.com", AddressError::Scheme),
            ("ftp://a/v1", AddressError::Scheme),
            ("file:///etc/passwd", AddressError::Scheme),
            ("", AddressError::Scheme),
            ("https://me:secret@a/v1", AddressError::User),
            ("https://key@a", AddressError::User),
            ("https://a/v1?key=1", AddressError::Query),
            ("https://a/v1#x", AddressError::Query),
            ("https://a b/v1", AddressError::Letters),
            ("https://a/v1\n", AddressError::Letters),
            ("https://\u{430}.example", AddressError::Letters),
            ("https://", AddressError::Host),
            ("https:///v1", AddressError::Host),
            ("https://-a", AddressError::Host),
            ("https://a..b", AddressError::Host),
            ("https://[::1", AddressError::Host),
            ("https://[::1]x", AddressError::Host),
            ("https://[1.2.3.4]", AddressError::Host),
            ("https://a:", AddressError::Port),
            ("https://a:0", AddressError::Port),
            ("https://a:65536", AddressError::Port),
            ("https://a:+80", AddressError::Port),
            ("https://a:80:80", AddressError::Port),
        ] {
            assert_eq!(Address::parse(text), Err(why), "{text}");
        }
    }

    #[test]
    fn others_read_along_where_nothing_is_encrypted_and_the_host_is_not_near() {
        for (text, readable) in [
            ("https://api.openai.com", false),
            ("http://api.openai.com", true),
            ("http://gpu-box:8080", true),
            ("http://localhost.example.com", true),
            ("http://localhost:1", false),
            ("http://a.localhost", false),
            ("http://127.0.0.1", false),
            ("http://127.9.9.9", false),
            ("http://10.0.0.7", false),
            ("http://172.31.0.1", false),
            ("http://172.32.0.1", true),
            ("http://192.168.1.5", false),
            ("http://8.8.8.8", true),
            ("http://[::1]", false),
            ("http://[fd00::1]", false),
            ("http://[::ffff:10.0.0.1]", false),
            ("http://[::ffff:8.8.8.8]", true),
            ("http://[2001:db8::1]", true),
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!(address.is_readable_by_others(), readable, "{text}");
        }
    }

    #[test]
    fn the_host_of_ollama_is_read_as_ollama_reads_it() {
        for (text, read) in [
            ("", "http://127.0.0.1:11434/v1"),
            ("1.2.3.4", "http://1.2.3.4:11434/v1"),
            ("1.2.3.4:", "http://1.2.3.4:11434/v1"),
            ("1.2.3.4:1234", "http://1.2.3.4:1234/v1"),
            (":1234", "http://127.0.0.1:1234/v1"),
            (":", "http://127.0.0.1:11434/v1"),
            ("example.com", "http://example.com:11434/v1"),
            ("example.com:1234", "http://example.com:1234/v1"),
            ("example.com:99999", "http://example.com:11434/v1"),
            ("example.com:x", "http://example.com:11434/v1"),
            ("0.0.0.0", "http://127.0.0.1:11434/v1"),
            ("0.0.0.0:8080", "http://127.0.0.1:8080/v1"),
            ("::1", "http://[::1]:11434/v1"),
            ("[::1]", "http://[::1]:11434/v1"),
            ("[::1]:1337", "http://[::1]:1337/v1"),
            ("[::]:1337", "http://127.0.0.1:1337/v1"),
            ("http://example.com", "http://example.com:80/v1"),
            ("http://example.com:8080/", "http://example.com:8080/v1"),
            ("https://example.com", "https://example.com:443/v1"),
            (
                "https://example.com/ollama/",
                "https://example.com:443/ollama/v1",
            ),
            ("ollama.com", "https://ollama.com:443/v1"),
            (" \"example.com\" ", "http://example.com:11434/v1"),
            ("'1.2.3.4:1'", "http://1.2.3.4:1/v1"),
        ] {
            let address = Address::of_ollama(text).unwrap();
            assert_eq!(address.as_str(), read, "{text}");
        }
        for wrong in ["ftp://a", "a b", "me:key@a", "a?b"] {
            assert!(Address::of_ollama(wrong).is_err(), "{wrong}");
        }
    }
}
