//! An object is the same in every form in which its JSON is kept.

use super::*;
use proptest::prelude::*;

fn object(number: usize, extra: &str) -> Object {
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"namespace":"team-{}","name":"web-{number}","uid":"0f3c5b1e-9a7d-4e2b-8c6f-{number:012}","resourceVersion":"{number}","generation":3,"labels":{{"app":"web"}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"r","controller":true}}]}},"spec":{{"nodeName":"node-{}","containers":[{{"name":"web","image":"registry.example/web:1"}}]}},"extra":"{extra}"}}"#,
        number % 7,
        number % 5,
    );
    Object::decode(json.as_bytes(), None).expect("it decodes")
}

fn packing(count: usize) -> Option<Packing> {
    let samples: Vec<_> = (0..count).map(|number| object(number, "").pattern().text).collect();
    let samples: Vec<_> = samples.iter().map(|text| &text[..]).collect();
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
    let kept = format!("{:?}", packed.flags().kept);
    assert_eq!(kept, form);
    assert!(packed.at_rest().text().is_none() && packed.at_rest().same_handle(packed));
    let text = object.json_len() + size_of::<CarriedObject>();
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
    let with_status = |status: &str| {
        let json = format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"a"}},"status":"{status}"}}"#
        );
        Object::decode(json.as_bytes(), None).expect("it decodes")
    };
    check_form(&with_status("short"), Some(&with), "Plain");
    check_form(&with_status(&noise(100)), None, "Plain");
}

#[test]
fn metadata_is_cut_out_once_for_all_clones_of_a_handle_that_carries_its_text() {
    let object = object(1, &"again and ".repeat(100));
    let cut = object.metadata_json();
    let text = String::from_utf8_lossy(&cut);
    let begin =
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"team-1","name":"web-1","#;
    assert!(text.starts_with(begin) && text.ends_with(r#""controller":true}]}}"#), "{text}");
    assert_eq!(object.clone().metadata_json().as_ptr(), cut.as_ptr());
    assert_eq!(object.packed(None).at_rest().metadata_json(), cut);
}

#[test]
fn an_object_keeps_the_dictionary_that_it_was_packed_with() {
    let with = packing(100).expect("they have much in common");
    let dictionary = Arc::downgrade(with.dictionary());
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

/// How a store that keeps these small objects keeps each: with the version before, or as a new one.
#[track_caller]
fn check_small(objects: &[(usize, Option<usize>)], forms: &str) -> Vec<Object> {
    let with = packing(100).expect("they have much in common");
    let (mut siblings, mut kept) = (Siblings::default(), Vec::<Object>::new());
    for &(number, before) in objects {
        let one = object(7 * number, "");
        let old = before.map(|at| kept[at].to_be_read());
        kept.push(siblings.pack(&one, old.as_ref(), Some(&with), 0).at_rest());
        check_same(&kept[kept.len() - 1], &one);
    }
    let form = |object: &Object| if object.flags().kept == Kept::Packed { 'p' } else { 'e' };
    assert_eq!(kept.iter().map(form).collect::<String>(), forms);
    kept
}

#[test]
fn small_objects_of_one_owner_are_kept_as_what_differs_and_their_versions_too() {
    let kept = check_small(&[(0, None), (1, None), (2, None), (3, None), (4, Some(3))], "ppeee");
    let last = &kept[4];
    assert!(last.kept_len() < 16, "two names, without UID and version: {last:?}");
}

#[test]
fn a_small_object_is_no_base_of_its_own_versions() {
    let versions: Vec<_> = (0..6).map(|at: usize| (at, at.checked_sub(1))).collect();
    check_small(&versions, "pppppp");
}

#[test]
fn an_object_that_becomes_small_is_packed_by_itself() {
    let with = packing(100).expect("they have much in common");
    let long = object(7, &noise(800)).packed(Some(&with));
    assert!(long.json_len() > 1024);
    let small = object(7, &noise(600));
    check_kept(&small, &after(&small, &long, Some(&with)), "Packed");
}

/// An object whose text is long enough to be worth edits.
fn changing(time: usize) -> Object {
    object(7, &format!("{}{time:06}{}", "before it ".repeat(100), "after it ".repeat(100)))
}

/// As a store keeps it that knows of no siblings.
fn after(object: &Object, old: &Object, packing: Option<&Packing>) -> Object {
    Siblings::default().pack(object, Some(old), packing, 0)
}

#[test]
fn a_change_is_kept_as_what_differs_from_the_version_that_was_packed() {
    let with = packing(100).expect("they have much in common");
    let first = changing(0).packed(Some(&with)).at_rest();
    let mut old = first.clone();
    for time in 1..4 {
        let told = old.to_be_read();
        let new =
            check_kept(&changing(time), &after(&changing(time), &told, Some(&with)), "Edited");
        assert!(told.text().is_some_and(|text| text.json.get().is_some()), "it was unpacked");
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
    check_kept(&changing(4), &after(&changing(4), &old, Some(&next)), "Packed");
    check_kept(&changing(4), &after(&changing(4), &old, None), "Packed");
    let other = object(7, &noise(3000));
    check_kept(&other, &after(&other, &old, Some(&with)), "Packed");
    check_kept(&object(7, ""), &after(&object(7, ""), &old, Some(&with)), "Packed");
    check_form(&old, Some(&next), "Packed");
}

/// One of an owner's objects, which differ by a few bytes each, and from those of another sort by most.
fn sibling(sort: usize, number: usize) -> Object {
    let own = |at: usize| noise(10 + at + number);
    object(
        7,
        &format!("{}{}{}{}{}", own(0), noise(1500 + sort), own(3), noise(1400 + sort), own(5)),
    )
}

/// How a store that keeps one after the other keeps each.
#[track_caller]
fn check_siblings(
    siblings: &mut Siblings,
    with: &Packing,
    objects: &[(usize, usize)],
    forms: &str,
) {
    let form = |&(sort, number): &(usize, usize)| {
        let one = sibling(sort, number);
        let kept = siblings.pack(&one, None, Some(with), 0).at_rest();
        check_same(&kept, &one);
        assert!(kept.is_packed_with(with));
        match kept.flags().kept {
            Kept::Packed => 'p',
            Kept::Edited if kept.kept_bytes().is_empty() => 'b',
            Kept::Edited => 'e',
            Kept::Carried | Kept::Plain => '-',
        }
    };
    assert_eq!(objects.iter().map(form).collect::<String>(), forms);
}

#[test]
fn objects_of_one_owner_are_kept_as_what_differs_from_one_of_them() {
    let with = packing(100).expect("they have much in common");
    let mut siblings = Siblings::default();
    let of =
        |sort: usize, count: usize| (0..count).map(|number| (sort, number)).collect::<Vec<_>>();
    check_siblings(&mut siblings, &with, &of(0, 5), "pbeee");
    // One of another sort changes nothing, the second is the base of those that come.
    check_siblings(&mut siblings, &with, &[(1, 0), (0, 9), (2, 0), (0, 8)], "pepe");
    check_siblings(&mut siblings, &with, &of(3, 4), "pbee");
    // Where all are of different sorts no base is of any use.
    let different: Vec<_> = (10..20).map(|sort| (sort, 0)).collect();
    check_siblings(&mut siblings, &with, &different, "pbbbpppppp");
    check_siblings(&mut siblings, &with, &of(4, 3), "ppp");
}

#[test]
fn a_base_of_another_dictionary_is_of_no_use() {
    let (with, next) = (packing(100).expect("enough"), packing(50).expect("enough"));
    let mut siblings = Siblings::default();
    check_siblings(&mut siblings, &with, &[(0, 0), (0, 1), (0, 2)], "pbe");
    check_siblings(&mut siblings, &next, &[(0, 0), (0, 1), (0, 2)], "pbe");
}

#[test]
fn later_versions_of_a_sibling_are_made_from_the_same_base() {
    let with = packing(100).expect("they have much in common");
    let mut siblings = Siblings::default();
    check_siblings(&mut siblings, &with, &[(0, 0), (0, 1)], "pb");
    for mut siblings in [siblings, Siblings::default()] {
        let first = siblings.pack(&sibling(0, 2), None, Some(&with), 0).at_rest();
        let told = first.to_be_read();
        let next = siblings.pack(&sibling(0, 3), Some(&told), Some(&with), 0);
        check_kept(&sibling(0, 3), &next, "Edited");
        check_same(&told, &sibling(0, 2));
        assert!(told.text().is_some_and(|text| text.json.get().is_some()), "it was unpacked");
    }
}

#[test]
fn what_is_known_of_siblings_is_bounded_and_what_is_asked_for_stays() {
    let with = packing(100).expect("they have much in common");
    let owned = |owner: usize, number: usize| {
        let json = sibling(0, number).json();
        let json = String::from_utf8(json.to_vec()).expect("text");
        let json = json.replace(r#""uid":"r""#, &format!(r#""uid":"r{owner}""#));
        Object::decode(json.as_bytes(), None).expect("it decodes")
    };
    let mut siblings = Siblings::default();
    for number in 0..3 {
        siblings.pack(&owned(0, number), None, Some(&with), 0);
    }
    for owner in 1..500 {
        let asked = siblings.pack(&owned(0, 3 + owner % 40), None, Some(&with), 0);
        assert!(asked.flags().kept == Kept::Edited, "it is known after {owner} others");
        for number in 0..3 {
            siblings.pack(&owned(owner, number), None, Some(&with), 0);
        }
        assert!(siblings.remembered() < 150 << 10, "{siblings:?}");
    }
    let forgotten = siblings.pack(&owned(1, 9), None, Some(&with), 0);
    assert!(forgotten.flags().kept == Kept::Packed);
}

#[test]
fn a_base_that_is_much_longer_than_the_others_is_not_theirs() {
    let with = packing(100).expect("they have much in common");
    let of = |length: usize| object(7, &noise(length));
    let mut siblings = Siblings::default();
    let mut pack = |object: &Object| siblings.pack(object, None, Some(&with), 0).at_rest();
    for length in [60_000, 60_001] {
        pack(&of(length));
    }
    for length in [1_500, 1_501, 3_000] {
        let (kept, alone) = (pack(&of(length)), of(length).packed(Some(&with)).at_rest());
        check_same(&kept, &of(length));
        assert!(kept.kept_len() <= alone.kept_len() + 100, "{length}: {}", kept.kept_len());
    }
    assert!(siblings.remembered() < 5_000, "the long one is forgotten: {siblings:?}");
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

/// An object whose own words may be anything that JSON can say.
fn of_words(words: &[String; 3], extra: usize) -> Object {
    let metadata = serde_json::json!({
        "resourceVersion": words[0], "name": words[2], "uid": words[1],
        "annotations": {"a": words[1], "b": words[0], "c": words[2]},
        "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": words[1]}],
    });
    let extra = noise(extra);
    let json = serde_json::json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "extra": extra});
    Object::decode(json.to_string().as_bytes(), None).expect("it decodes")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

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

    #[test]
    fn objects_with_any_words_come_back(
        objects in prop::collection::vec(
            (
                [
                    "[7\"\u{1}\u{2}\u{3}é]{0,3}",
                    "[7\"\u{1}\u{2}\u{3}é]{0,3}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
                    "[7\"\u{1}\u{2}\u{3}é]{1,3}|web-[1-3]",
                ],
                0..1500_usize,
                any::<bool>(),
            ),
            1..12,
        ),
    ) {
        let (with, mut siblings) = (packing(100).expect("enough"), Siblings::default());
        let mut old: Option<Object> = None;
        for (words, extra, is_cut) in objects {
            let one = of_words(&words, extra);
            let one = if is_cut { one.metadata_only() } else { one };
            let kept = siblings.pack(&one, old.as_ref(), Some(&with), 0);
            check_same(&kept.at_rest(), &one);
            let bytes = Bytes::from(one.json().to_vec());
            check_same(&kept.with_json(bytes).packed(None).at_rest(), &one);
            old = Some(kept.at_rest().to_be_read());
        }
    }
}
