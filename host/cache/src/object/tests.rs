//! An object is the same in every form in which its JSON is kept.

use super::*;
use proptest::prelude::*;

fn object(number: usize, extra: &str) -> Object {
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"namespace":"team-{}","name":"web-{number}","uid":"u{number}","resourceVersion":"{number}","generation":3,"labels":{{"app":"web"}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"r","controller":true}}]}},"spec":{{"nodeName":"node-{}","containers":[{{"name":"web","image":"registry.example/web:1"}}]}},"extra":"{extra}"}}"#,
        number % 7,
        number % 5,
    );
    Object::decode(json.as_bytes(), None).expect("it decodes")
}

fn packing(count: usize) -> Option<Packing> {
    let samples: Vec<_> = (0..count).map(|number| object(number, "").json()).collect();
    let samples: Vec<_> = samples.iter().map(|json| &json[..]).collect();
    Packing::train(&samples, 4096)
}

/// Text that does not pack.
fn noise(length: usize) -> String {
    let mut random = fastrand::Rng::with_seed(length as u64);
    std::iter::repeat_with(|| random.alphanumeric()).take(length).collect()
}

#[track_caller]
fn check_same(one: &Object, other: &Object) {
    let show = |object: &Object| {
        let labels: Vec<_> = object.labels().map(|(k, v)| format!("{k}={v}")).collect();
        let owners: Vec<_> = object.owner_references().collect();
        format!("{object:?} {} {labels:?} {owners:?} {:?}", object.uid(), object.generation())
    };
    assert_eq!(show(one), show(other));
    assert_eq!(one.json_len(), one.json().len());
    assert_eq!(one.json_len(), other.json_len());
}

#[track_caller]
fn check_form(object: &Object, packing: Option<&Packing>, form: &str) -> Object {
    check_kept(object, &object.packed(packing), form)
}

#[track_caller]
fn check_kept(object: &Object, packed: &Object, form: &str) -> Object {
    check_same(packed, object);
    check_same(&packed.at_rest(), object);
    let kept = format!("{:?}", packed.head().kept);
    assert!(kept.starts_with(form), "{kept} is not {form}");
    assert!(packed.at_rest().text.is_none() && packed.at_rest().same_handle(packed));
    let text = object.json_len() + size_of::<Text>();
    assert_eq!(packed.at_rest().size() + text, packed.to_be_read().size());
    packed.at_rest()
}

#[test]
fn an_object_is_packed_with_a_dictionary_without_one_or_not_at_all() {
    let with = packing(100).expect("they have much in common");
    let long = object(1, &"again and ".repeat(100));
    let packed = check_form(&long, Some(&with), "Packed").size();
    let without = check_form(&long, None, "Packed").size();
    assert!(packed < without && without < long.json_len(), "{packed} < {without}");
    let named = |name: &str| {
        let json = format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}"}}}}"#);
        Object::decode(json.as_bytes(), None).expect("it decodes")
    };
    check_form(&named("short"), Some(&with), "Plain");
    check_form(&named(&noise(100)), None, "Plain");
}

#[test]
fn an_object_keeps_the_dictionary_that_it_was_packed_with() {
    let with = packing(100).expect("they have much in common");
    let dictionary = Arc::downgrade(&with.dictionary);
    let packed = object(7, "").packed(Some(&with)).at_rest();
    assert!(packed.is_packed_with(&with));
    drop(with);
    check_same(&packed, &object(7, ""));
    let next = packing(50).expect("they have much in common");
    assert!(!packed.is_packed_with(&next));
    let again = check_form(&packed, Some(&next), "Packed");
    assert!(dictionary.upgrade().is_some());
    drop(packed);
    assert!(dictionary.upgrade().is_none(), "it goes with the last of its objects");
    check_same(&again, &object(7, ""));
}

/// An object whose text is long enough to be worth edits.
fn changing(time: usize) -> Object {
    object(7, &format!("{}{time:06}{}", "before it ".repeat(100), "after it ".repeat(100)))
}

#[test]
fn a_change_is_kept_as_what_differs_from_the_version_that_was_packed() {
    let with = packing(100).expect("they have much in common");
    let first = changing(0).packed(Some(&with)).at_rest();
    let mut old = first.clone();
    for time in 1..4 {
        let told = old.to_be_read();
        let new =
            check_kept(&changing(time), &changing(time).packed_after(&told, Some(&with)), "Edited");
        assert!(told.text.as_ref().is_some_and(|text| text.0.get().is_some()), "it was unpacked");
        check_same(&told, &changing(time - 1));
        assert!(new.is_packed_with(&with) && new.packed_with() == first.packed_with());
        assert!(new.packed_len().is_none() && first.packed_len().is_some());
        assert!(new.size() < first.size() + 100, "{} after {}", new.size(), first.size());
        old = new;
    }
    drop(first);
    check_same(&old, &changing(3));
    // With another dictionary, or in the place of something else, it is packed anew.
    let next = packing(50).expect("they have much in common");
    check_kept(&changing(4), &changing(4).packed_after(&old, Some(&next)), "Packed");
    check_kept(&changing(4), &changing(4).packed_after(&old, None), "Packed");
    let other = object(7, &noise(3000));
    check_kept(&other, &other.packed_after(&old, Some(&with)), "Packed");
    check_kept(&object(7, ""), &object(7, "").packed_after(&old, Some(&with)), "Packed");
    check_form(&old, Some(&next), "Packed");
}

#[test]
fn what_is_told_is_unpacked_once_for_all_its_handles() {
    let packed = object(1, &"again ".repeat(100)).packed(None).at_rest();
    let told = packed.to_be_read();
    let texts = [told.json(), told.clone().json(), told.to_be_read().json()];
    assert!(texts.iter().all(|text| std::ptr::eq(&texts[0][..], &text[..])));
    assert!(!std::ptr::eq(&told.at_rest().json()[..], &texts[0][..]), "that carries no text");
    check_same(&told, &packed);
}

#[test]
fn an_object_that_has_just_arrived_is_at_rest_as_it_is() {
    let arrived = object(1, "");
    check_same(&arrived.at_rest(), &arrived);
    assert_eq!(arrived.at_rest().size(), arrived.size());
    assert!(arrived.same_json(&object(1, "")) && !arrived.same_json(&object(2, "")));
}

#[test]
fn nothing_is_trained_on_too_little() {
    assert!(packing(0).is_none() && packing(1).is_none());
}

proptest! {
    #[test]
    fn what_is_packed_is_unpacked(
        texts in prop::collection::vec(("[a-z\"{:,é]{0,40}", 0..4000_usize, 0..2000_usize), 1..8),
        trained in any::<bool>(),
    ) {
        let with = packing(100).filter(|_| trained);
        for (number, (text, times, random)) in texts.into_iter().enumerate() {
            let text = serde_json::to_string(&text.repeat(times)).expect("text is JSON");
            let one = object(number, &(text[1..text.len() - 1].to_owned() + &noise(random)));
            check_same(&one.packed(with.as_ref()).at_rest(), &one);
        }
    }
}
