//! Parses a request's body into a tree, by its media type.

use informant_apimachinery::Status;
use serde_json::Value;

use crate::protobuf;

const YAML: &str = "application/yaml";

/// Parses an object: JSON, YAML or Kubernetes' protobuf.
pub fn object(media_type: &str, body: &[u8]) -> Result<Value, Status> {
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    let value = match media_type {
        "application/json" | "*/*" => serde_json::from_slice(body).map_err(|error| {
            Status::bad_request(format!("the body of the request is not valid JSON: {error}"))
        })?,
        YAML => yaml(body)?,
        protobuf::MEDIA_TYPE => {
            protobuf::decode(body).map_err(|error| Status::bad_request(error.to_string()))?
        }
        _ => {
            let accepted = format!("application/json, {YAML}, {}", protobuf::MEDIA_TYPE);
            return Err(Status::unsupported_media_type(&accepted));
        }
    };
    if !value.is_object() {
        return Err(Status::bad_request("the body of the request is no object"));
    }
    Ok(value)
}

/// Parses one YAML document. JSON is also YAML.
pub fn yaml(body: &[u8]) -> Result<Value, Status> {
    serde_saphyr::from_slice(body).map_err(|error| {
        Status::bad_request(format!("the body of the request is not valid YAML: {error}"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(media_type: &str, body: &str, expect: Result<Value, u16>) {
        let seen = object(media_type, body.as_bytes()).map_err(|status| status.code);
        assert_eq!(seen, expect, "{media_type}");
    }

    #[test]
    fn each_media_type_is_read_by_its_rules() {
        let expect = json!({"a": {"b": "1", "c": [1, true, null]}});
        check("application/json; charset=utf-8", &expect.to_string(), Ok(expect.clone()));
        check("application/yaml", "a:\n  b: \"1\"\n  c: [1, true, null]\n", Ok(expect.clone()));
        check("application/yaml", &expect.to_string(), Ok(expect));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        check("application/json", "{", Err(400));
        check("application/json", "[]", Err(400));
        check("application/yaml", "a: [", Err(400));
        check("application/vnd.kubernetes.protobuf", "{}", Err(400));
        check("text/plain", "{}", Err(415));
    }
}
