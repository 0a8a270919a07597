//! List bodies, whole and cut at every place.

use super::*;

/// Items as `name@kind`, then the metadata.
fn read(chunks: &[&[u8]]) -> Result<(Vec<String>, ListMeta), ListBodyError> {
    let mut list = ListBody::new(LastApplied::Kept);
    let mut items = Vec::new();
    for chunk in chunks {
        list.feed(chunk, &mut items)?;
    }
    let meta = list.finish(&mut items)?;
    let shown = |item: ListItem| match item {
        Ok(object) => {
            let value: serde_json::Value = serde_json::from_slice(&object.json()).expect("JSON");
            format!("{}@{}", object.key(), value["kind"].as_str().unwrap_or_default())
        }
        Err(error) => format!("error: {error}"),
    };
    Ok((items.into_iter().map(shown).collect(), meta))
}

#[track_caller]
fn check(body: &str, items: &[&str], resource_version: &str, continue_token: &str) {
    for cut in 0..=body.len() {
        let (head, tail) = body.as_bytes().split_at(cut);
        let (found, meta) = read(&[head, tail]).expect("a list");
        assert_eq!(found, items, "cut at {cut}");
        let expect = (resource_version, continue_token);
        assert_eq!((meta.resource_version.as_str(), meta.continue_token.as_str()), expect);
    }
    let bytes: Vec<&[u8]> = body.as_bytes().chunks(1).collect();
    assert_eq!(read(&bytes).expect("a list").0, items, "byte by byte");
}

#[track_caller]
fn check_error(body: &str, expect: &str) {
    let error = read(&[body.as_bytes()]).expect_err("not a list").to_string();
    assert!(error.starts_with(expect), "{error:?} does not start with {expect:?}");
}

#[test]
fn typed_lists_say_the_type_once_and_first() {
    check(
        r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"t"},"items":[{"metadata":{"name":"a"},"x":"]}\\\"{["},{"metadata":{"name":"b"}}]}"#,
        &["a@Pod", "b@Pod"],
        "7",
        "t",
    );
}

#[test]
fn lists_of_custom_resources_have_their_keys_in_alphabetical_order() {
    check(
        r#"{"apiVersion":"g/v1","items":[{"apiVersion":"g/v1","kind":"Foo","metadata":{"name":"a"}}],"kind":"FooList","metadata":{"resourceVersion":"7"}}"#,
        &["a@Foo"],
        "7",
        "",
    );
    check(
        r#"{"apiVersion":"g/v1","items":[{"metadata":{"name":"a"}}],"kind":"FooList","metadata":{"resourceVersion":"7"}}"#,
        &["a@Foo"],
        "7",
        "",
    );
}

#[test]
fn space_and_unknown_fields_do_not_matter() {
    check(
        "\n{ \"kind\" : \"PodList\" , \"apiVersion\":\"v1\", \"n\": 1.5e3 , \"t\":true,\"u\":[[{}],\"]\"],\n\"metadata\":{\"resourceVersion\":\"1\"},\"items\": [ {\"metadata\":{\"name\":\"a\"}} ] , \"z\":-1}\n",
        &["a@Pod"],
        "1",
        "",
    );
}

#[test]
fn empty_lists_are_lists() {
    check(r#"{"kind":"PodList","metadata":{"resourceVersion":"1"},"items":[]}"#, &[], "1", "");
    check(r#"{"kind":"PodList","metadata":{"resourceVersion":"1"},"items":null}"#, &[], "1", "");
    check(r#"{"kind":"PodList","metadata":null}"#, &[], "", "");
    check(r#"{"items":null ,"metadata":null}"#, &[], "", "");
}

#[test]
fn an_item_that_cannot_be_read_does_not_take_the_others_with_it() {
    check(
        r#"{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{}},{"metadata":{"name":"b"}}]}"#,
        &["error: object has no metadata.name", "b@Pod"],
        "",
        "",
    );
}

#[test]
fn what_is_not_a_list_is_an_error() {
    check_error("", "list cannot be read: it broke off");
    check_error("<html>", "list cannot be read: it is not a JSON object with items");
    check_error(r#"{"items":[{"metadata":{"name":"a"}}"#, "list cannot be read: it broke off");
    check_error(r#"{"items":[1]}"#, "list cannot be read: it is not a JSON object with items");
    check_error(r#"{"items":{}}"#, "list cannot be read: its items are not an array");
    check_error(r#"{"metadata":[}"#, "list cannot be read");
    check_error(r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1"}"#, "list's answer is a Table");
    check_error("{\"items\":[]}{}", "list cannot be read: it is not a JSON object with items");
}

#[test]
fn an_answer_without_items_is_no_empty_list() {
    check_error("{}", "list's answer has no items, it is of no kind");
    check_error(
        r#"{"kind":"Status","apiVersion":"v1","status":"Success","message":"hello"}"#,
        "list's answer has no items, it is a Status: hello",
    );
    let pod = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}"#;
    check_error(pod, "list's answer has no items, it is a Pod");
    let twice = r#"{"items":[],"items":[{"metadata":{"name":"a"}}]}"#;
    check_error(twice, "list cannot be read: its items stand twice");
}

#[test]
fn a_table_of_another_group_is_a_list_like_any() {
    let version = "furniture.example.com/v1";
    let body = format!(r#"{{"kind":"Table","apiVersion":"{version}","metadata":{{}},"items":[]}}"#);
    check(&body, &[], "", "");
    check_error(&body.replace(version, "meta.k8s.io/v1beta1"), "list's answer is a Table");
}

#[test]
fn what_json_does_not_allow_is_an_error() {
    let structure = "list cannot be read: it is not a JSON object with items";
    check_error(r#"{,"items":[]}"#, structure);
    check_error(r#"{"items":[],}"#, structure);
    check_error(r#"{"items":[]"a":1}"#, structure);
    check_error(r#"{"items":[{}{}]}"#, structure);
    check_error(r#"{"items":[{},]}"#, structure);
    check_error(r#"{"items"::[]}"#, "list cannot be read: its items are not an array");
    check_error(r#"{"x"::1,"items":[]}"#, "list cannot be read");
    check_error("{\"items\":[]\x0c}", structure);
    check_error(r#"{"x":,"items":[]}"#, "list cannot be read: EOF");
    check_error(r#"{"x":nonsense,"items":[]}"#, "list cannot be read: expected");
}

#[test]
fn items_that_wait_to_learn_what_they_are_have_a_bound() {
    let item = r#"{"metadata":{"name":"a"}}"#;
    let mut items = Vec::new();
    let mut list =
        ListBody { untyped_bytes_max: 2 * item.len(), ..ListBody::new(LastApplied::Kept) };
    list.feed(format!("{{\"items\":[{item},{item},").as_bytes(), &mut items).expect("they fit");
    let error = list.feed(format!("{item},").as_bytes(), &mut items).expect_err("one too many");
    assert!(error.to_string().contains("too many of its items"), "{error}");
}

#[test]
fn tokens_of_a_list_are_as_long_as_they_may_be() {
    let body = |field: &str, length| {
        let token = "t".repeat(length);
        format!(r#"{{"metadata":{{"{field}":"{token}"}},"items":[]}}"#)
    };
    let longest = "t".repeat(TOKEN_BYTES_MAX);
    check(&body("resourceVersion", TOKEN_BYTES_MAX), &[], &longest, "");
    check(&body("continue", TOKEN_BYTES_MAX), &[], "", &longest);
    for field in ["resourceVersion", "continue"] {
        let expect = "list's resourceVersion or continue is longer than 4096 bytes";
        check_error(&body(field, TOKEN_BYTES_MAX + 1), expect);
    }
}
