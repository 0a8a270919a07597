//! The training of dictionaries, and objects that an older one packed.

use super::*;
use std::collections::BTreeMap;

/// About 2 KiB that objects of one kind share, and a few bytes of their own.
fn object(kind: usize, number: usize, version: u64) -> Object {
    let word = |random: &mut fastrand::Rng| {
        std::iter::repeat_with(|| random.alphanumeric()).take(12).collect::<String>()
    };
    let mut random = fastrand::Rng::with_seed(kind as u64);
    let words: Vec<String> = (0..150).map(|_| word(&mut random)).collect();
    let own = word(&mut fastrand::Rng::with_seed(1000 + number as u64));
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"namespace":"kind-{kind}","name":"o{number:05}","resourceVersion":"{version}"}},"spec":{{"words":"{}","own":"{own}","version":{version}}}}}"#,
        words.join(" "),
    );
    Object::decode(json.as_bytes(), None).expect("it decodes")
}

fn put(indexer: &Indexer, objects: impl Iterator<Item = Object>) {
    let mut write = indexer.write();
    objects.for_each(|object| drop(write.put(object, Write::Listed { consistent: true })));
}

fn list_is_complete(indexer: &Indexer) {
    indexer.write().set_resource_version("9");
}

/// Does a step of deferrable work, and trains if it asks for that. Returns whether there is more.
fn step(indexer: &Indexer) -> bool {
    let tidying = indexer.tidy();
    if tidying.trains {
        indexer.train();
    }
    tidying.has_more || tidying.trains
}

/// Packs anew what is due, which changes no content.
#[track_caller]
fn tidy(indexer: &Indexer) {
    let edition = indexer.edition();
    for _ in 0..10_000 {
        if !step(indexer) {
            assert_eq!(indexer.edition(), edition);
            return;
        }
    }
    panic!("there is an end to it");
}

/// The objects by their dictionary, with the most bytes of one: `[64: 300]` are 64 objects of one dictionary.
#[track_caller]
fn check(indexer: &Indexer, expect: &[(usize, usize)]) {
    let mut packed: BTreeMap<_, (usize, usize)> = BTreeMap::new();
    for object in indexer.snapshot().objects(None) {
        let (count, bytes) = packed.entry(object.packed_with()).or_default();
        *count += 1;
        *bytes = (*bytes).max(object.kept_len());
        let number = object.key().name()[1..].parse().expect("a number");
        let kind = object.key().namespace()[5..].parse().expect("a number");
        let version = object.resource_version().parse().expect("a number");
        assert_eq!(object.json(), self::object(kind, number, version).json());
    }
    let mut packed: Vec<_> = packed.into_values().collect();
    packed.sort_unstable();
    let fits = packed.len() == expect.len()
        && packed.iter().zip(expect).all(|(is, most)| is.0 == most.0 && is.1 <= most.1);
    assert!(fits, "{packed:?} instead of {expect:?}");
}

const ALONE: usize = 1900;
const WITH_DICTIONARY: usize = 300;

#[test]
fn a_small_store_is_packed_without_a_dictionary() {
    let indexer = Indexer::default();
    put(&indexer, (0..100).map(|number| object(0, number, 1)));
    list_is_complete(&indexer);
    tidy(&indexer);
    check(&indexer, &[(100, ALONE)]);
}

#[test]
fn a_dictionary_is_trained_at_the_end_of_the_first_list_and_packs_what_is_there() {
    let indexer = Indexer::default();
    put(&indexer, (0..300).map(|number| object(0, number, 1)));
    tidy(&indexer);
    check(&indexer, &[(300, ALONE)]);
    list_is_complete(&indexer);
    tidy(&indexer);
    check(&indexer, &[(300, WITH_DICTIONARY)]);
}

#[test]
fn a_long_list_does_not_wait_for_its_end() {
    let indexer = Indexer::default();
    put(&indexer, (0..1100).map(|number| object(0, number, 1)));
    tidy(&indexer);
    put(&indexer, (1100..1200).map(|number| object(0, number, 1)));
    check(&indexer, &[(1200, WITH_DICTIONARY)]);
}

#[test]
fn packing_anew_goes_in_steps_and_ends() {
    let indexer = Indexer::default();
    put(&indexer, (0..300).map(|number| object(0, number, 1)));
    list_is_complete(&indexer);
    assert!(step(&indexer), "it trains");
    assert!(step(&indexer), "there is more");
    check(&indexer, &[(128, WITH_DICTIONARY), (172, ALONE)]);
    put(&indexer, (0..64).map(|number| object(0, number, 2)));
    tidy(&indexer);
    check(&indexer, &[(300, WITH_DICTIONARY)]);
}

#[test]
fn a_dictionary_that_has_become_worse_is_replaced_and_one_that_has_not_is_kept() {
    let indexer = Indexer::default();
    put(&indexer, (0..1100).map(|number| object(0, number, 1)));
    tidy(&indexer);
    let first = indexer.chunk(None, 1)[0].packed_with();
    put(&indexer, (1100..1500).map(|number| object(0, number, 1)));
    list_is_complete(&indexer);
    tidy(&indexer);
    assert_eq!(indexer.chunk(None, 1)[0].packed_with(), first, "it is as good as it was");
    for kind in 1..4 {
        put(&indexer, (0..1500).map(|number| object(kind, number, 1)));
    }
    check(&indexer, &[(6000, ALONE)]);
    tidy(&indexer);
    check(&indexer, &[(6000, WITH_DICTIONARY)]);
    assert_ne!(indexer.chunk(None, 1)[0].packed_with(), first);
}

#[test]
fn objects_are_packed_anew_while_an_index_is_being_built() {
    let indexer = Indexer::default();
    put(&indexer, (0..600).map(|number| object(0, number, 1)));
    list_is_complete(&indexer);
    let by_name = IndexFunc::new(|object| vec![object.key().name().to_owned()]);
    indexer.declare_index("name", by_name).expect("it is new");
    tidy(&indexer);
    check(&indexer, &[(600, WITH_DICTIONARY)]);
    indexer.fill_index("name", || true);
    assert_eq!(indexer.index_values("name", 0, None).expect("it is there").items.len(), 600);
}

#[test]
fn an_index_that_is_being_built_misses_nothing_that_is_packed_anew() {
    let indexer = Indexer::default();
    put(&indexer, (0..600).map(|number| object(0, number, 1)));
    list_is_complete(&indexer);
    let by_name = IndexFunc::new(|object| vec![object.key().name().to_owned()]);
    std::thread::scope(|scope| {
        scope.spawn(|| tidy(&indexer));
        indexer.add_index("name", by_name).expect("it is new");
    });
    assert_eq!(indexer.index_values("name", 0, None).expect("it is there").items.len(), 600);
    tidy(&indexer);
    check(&indexer, &[(600, WITH_DICTIONARY)]);
}

/// One of an owner's objects.
fn owned(number: usize, version: u64) -> Object {
    let json = String::from_utf8(object(0, number, version).json().to_vec()).expect("text");
    let owner = r#""metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"r"}],"#;
    let json = json.replacen(r#""metadata":{"#, owner, 1);
    Object::decode(json.as_bytes(), None).expect("it decodes")
}

/// The number of dictionaries of the objects; the store counts the bytes of each.
#[track_caller]
fn check_owned(indexer: &Indexer, dictionaries: usize) {
    let snapshot = indexer.snapshot();
    let mut with = Vec::new();
    let mut bytes = 0;
    for object in snapshot.objects(None) {
        let number = object.key().name()[1..].parse().expect("a number");
        let version = object.resource_version().parse().expect("a number");
        assert_eq!(object.json(), owned(number, version).json());
        with.push(object.packed_with());
        bytes += object.at_rest().size();
    }
    assert_eq!(indexer.bytes(), bytes);
    with.sort_unstable();
    with.dedup();
    assert_eq!(with.len(), dictionaries);
}

#[test]
fn siblings_are_counted_and_packed_anew_like_all_others() {
    let indexer = Indexer::default();
    put(&indexer, (0..300).map(|number| owned(number, 1)));
    list_is_complete(&indexer);
    tidy(&indexer);
    check_owned(&indexer, 1);
    put(&indexer, (0..100).map(|number| owned(number, 2)));
    put(&indexer, (300..320).map(|number| owned(number, 1)));
    for number in [0, 1, 2, 50, 310] {
        indexer.write().remove(owned(number, 1).key());
    }
    check_owned(&indexer, 1);
    indexer.write().train();
    put(&indexer, (100..120).map(|number| owned(number, 3)));
    check_owned(&indexer, 2);
    tidy(&indexer);
    check_owned(&indexer, 1);
}
