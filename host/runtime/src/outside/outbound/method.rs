//! The allowed methods. `CONNECT` would be a tunnel, and `TRACE` would return the headers that the host adds. There is
//! no need for others.

use std::str::FromStr;

/// The method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Method {
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
    Options,
}

impl Method {
    pub(crate) const ALL: [Self; 7] =
        [Self::Get, Self::Head, Self::Post, Self::Put, Self::Patch, Self::Delete, Self::Options];

    /// As it is sent.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
        }
    }

    /// Whether the method only reads: RFC 9110, 9.2.1.
    pub(crate) fn is_safe(self) -> bool {
        matches!(self, Self::Get | Self::Head | Self::Options)
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|method| method.name() == text);
        known.ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            format!("has {text:?}, and may have {known}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_written_in_capitals_and_tunnels_and_echoes_are_none() {
        for method in Method::ALL {
            assert_eq!(method.name().parse(), Ok(method));
        }
        for other in ["get", "CONNECT", "TRACE", "QUERY", "", "GET ", "GET\r\n"] {
            let problem = other.parse::<Method>().expect_err("it is none");
            assert!(problem.ends_with("and may have GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"));
        }
    }
}
