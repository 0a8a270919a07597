//! Random writes, lists of two parts that overlap and break off, and indexes that come and go, against a map as the
//! model.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const PARTS: [&str; 2] = ["a", "b"];
const WORDS: [&str; 4] = ["w", "x", "y", "z"];

#[derive(Clone, Debug)]
enum Step {
    /// A watch reports a newer version with the words of these bits.
    Change {
        part: usize,
        name: u8,
        words: u8,
    },
    Remove {
        part: usize,
        name: u8,
    },
    /// A list of the part begins; a list in progress was interrupted.
    Begin {
        part: usize,
    },
    /// The list in progress shows the stored version, or a new object.
    Show {
        part: usize,
        name: u8,
    },
    End {
        part: usize,
    },
    AddIndex,
    RemoveIndex,
    Publish,
    /// A new dictionary is trained, if there are enough objects.
    Train,
    PackAnew {
        limit: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let (part, name) = (0..2_usize, 0..24_u8);
    let object = (part.clone(), name);
    prop_oneof![
        6 => (object.clone(), 0..16_u8)
            .prop_map(|((part, name), words)| Step::Change { part, name, words }),
        3 => object.clone().prop_map(|(part, name)| Step::Remove { part, name }),
        1 => part.clone().prop_map(|part| Step::Begin { part }),
        8 => object.prop_map(|(part, name)| Step::Show { part, name }),
        1 => part.prop_map(|part| Step::End { part }),
        1 => Just(Step::AddIndex),
        1 => Just(Step::RemoveIndex),
        3 => Just(Step::Publish),
        1 => Just(Step::Train),
        2 => (1..20_usize).prop_map(|limit| Step::PackAnew { limit }),
    ]
}

/// Version and words of each object.
type Objects = BTreeMap<ObjectKey, (u64, u8)>;

#[derive(Default)]
struct Model {
    objects: Objects,
    has_index: bool,
    version: u64,
    /// The objects written or shown since each part's list began.
    touched: [Option<BTreeSet<ObjectKey>>; 2],
}

impl Model {
    fn touch(&mut self, key: &ObjectKey) {
        for touched in self.touched.iter_mut().flatten() {
            touched.insert(key.clone());
        }
    }

    fn sweep(&mut self, part: usize) -> Vec<String> {
        let Some(touched) = self.touched[part].take() else { return Vec::new() };
        let stays = |key: &ObjectKey| key.namespace() != PARTS[part] || touched.contains(key);
        let gone = self.objects.keys().filter(|key| !stays(key)).map(ToString::to_string).collect();
        self.objects.retain(|key, _| stays(key));
        gone
    }
}

fn words(bits: u8) -> impl Iterator<Item = String> {
    let words = WORDS.iter().enumerate().filter(move |(bit, _)| bits & (1 << bit) != 0);
    words.map(|(_, word)| (*word).to_owned())
}

fn object(key: &ObjectKey, (version, bits): (u64, u8)) -> Object {
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"namespace":"{}","name":"{}","resourceVersion":"{version}","labels":{{"bits":"{bits}"}}}},"data":"{}"}}"#,
        key.namespace(),
        key.name(),
        format!("{bits} of {key} at {version}, ").repeat(usize::from(bits)),
    );
    Object::decode(json.as_bytes(), None).expect("it decodes")
}

fn by_words() -> IndexFunc {
    IndexFunc::new(|object| {
        let bits = object.label("bits").and_then(|bits| bits.parse().ok()).expect("made above");
        // In any order and more than once.
        words(bits).chain(words(bits)).collect()
    })
}

/// Applies a step to both. A batch is open from the first write to `Publish`.
fn apply<'a>(
    (indexer, batch): (&'a Indexer, &mut Option<IndexerWrite<'a>>),
    marks: &mut [Option<ListMark>; 2],
    model: &mut Model,
    step: &Step,
) {
    match *step {
        Step::Publish => {
            if let Some(write) = batch.take() {
                write.publish();
            }
            return;
        }
        Step::AddIndex | Step::RemoveIndex => {
            *batch = None;
            if matches!(step, Step::AddIndex) {
                assert_eq!(indexer.add_index("words", by_words()).is_ok(), !model.has_index);
                model.has_index = true;
            } else {
                assert_eq!(indexer.remove_index("words"), model.has_index);
                model.has_index = false;
            }
            return;
        }
        _ => {}
    }
    let write = batch.get_or_insert_with(|| indexer.write());
    let key_of = |part: usize, name: u8| ObjectKey::new(PARTS[part], format!("o{name}"));
    match *step {
        Step::Change { part, name, words } => {
            let key = key_of(part, name);
            model.version += 1;
            let there = model.objects.insert(key.clone(), (model.version, words)).is_some();
            model.touch(&key);
            let put = write.put(object(&key, (model.version, words)), Write::Watched);
            assert_eq!(
                (matches!(put, Put::Added { .. }), matches!(put, Put::Updated { .. })),
                (!there, there)
            );
        }
        Step::Remove { part, name } => {
            let key = key_of(part, name);
            let gone = matches!(write.remove(&key), Removed::Gone { .. });
            assert_eq!(gone, model.objects.remove(&key).is_some());
        }
        Step::Begin { part } => {
            marks[part] = Some(write.begin_list());
            model.touched[part] = Some(BTreeSet::new());
        }
        Step::Show { part, name } if marks[part].is_some() => {
            let key = key_of(part, name);
            model.version += 1;
            let stored = model.objects.entry(key.clone()).or_insert((model.version, 0));
            write.put(object(&key, *stored), Write::Listed { consistent: false });
            model.touch(&key);
        }
        Step::End { part } => {
            let mut gone = Vec::new();
            if let Some(mut mark) = marks[part].take() {
                let of_part = |object: &Object| object.key().namespace() == PARTS[part];
                loop {
                    let some = write.sweep(&mut mark, of_part, 3);
                    gone.extend(some.iter().map(|object| object.key().to_string()));
                    if some.len() < 3 {
                        break;
                    }
                }
            }
            assert_eq!(gone, model.sweep(part));
        }
        Step::Train => write.train(),
        Step::PackAnew { limit } => write.pack_anew(limit),
        Step::Show { .. } | Step::AddIndex | Step::RemoveIndex | Step::Publish => {}
    }
}

/// Compares every read of a state with the model.
fn check(snapshot: &Snapshot, (objects, has_index): &(Objects, bool)) {
    let everything = LabelSelector::default();
    let show = |found: &Object| {
        let what = objects.get(found.key()).expect("what is there was written");
        assert_eq!(found.json(), object(found.key(), *what).json());
        format!("{}@{}", found.key(), found.resource_version())
    };
    for namespace in [None, Some("a"), Some("b"), Some("c")] {
        let of = |key: &&ObjectKey| namespace.is_none_or(|namespace| namespace == key.namespace());
        let keys: Vec<_> = objects.keys().filter(of).collect();
        let expect: Vec<_> = keys.iter().map(|key| format!("{key}@{}", objects[key].0)).collect();
        assert_eq!(snapshot.count(namespace), expect.len());
        let mut found = Vec::new();
        let mut cursor = None;
        loop {
            let page = snapshot.list(namespace, &everything, 5, cursor.as_deref()).expect("a page");
            found.extend(page.items.iter().map(show));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(found, expect);
    }
    assert_eq!(snapshot.bytes(), snapshot.objects(None).map(Object::size).sum::<usize>());
    let mut values = BTreeSet::new();
    for word in WORDS {
        let has = |bits: u8| words(bits).any(|one| one == word);
        let filed: Vec<_> = objects.iter().filter(|(_, (_, bits))| has(*bits)).collect();
        let keys = snapshot.index_keys("words", word, 0, None).map(|page| page.items).ok();
        let expect: Vec<_> = filed.iter().map(|(key, _)| (*key).clone()).collect();
        assert_eq!(keys, has_index.then_some(expect));
        if let Ok(page) = snapshot.by_index("words", word, 0, None) {
            let expect = filed.iter().map(|(key, (version, _))| format!("{key}@{version}"));
            assert_eq!(page.items.iter().map(show).collect::<Vec<_>>(), expect.collect::<Vec<_>>());
        }
        if !filed.is_empty() {
            values.insert(word.to_owned());
        }
    }
    let found = snapshot.index_values("words", 0, None).map(|page| page.items).ok();
    assert_eq!(found, has_index.then(|| values.into_iter().collect()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Invariant 3.
    #[test]
    fn every_published_state_is_what_was_written_and_stays_so(
        steps in prop::collection::vec(step(), 0..250),
    ) {
        let indexer = Indexer::default();
        let (mut batch, mut marks, mut model) = (None, [None, None], Model::default());
        let mut states = Vec::new();
        for step in &steps {
            let before = indexer.snapshot();
            apply((&indexer, &mut batch), &mut marks, &mut model, step);
            if batch.is_some() {
                prop_assert!(indexer.snapshot().same_state(&before), "no reader sees a part");
            } else {
                states.push((indexer.snapshot(), (model.objects.clone(), model.has_index)));
            }
        }
        drop(batch);
        states.push((indexer.snapshot(), (model.objects.clone(), model.has_index)));
        for (snapshot, expect) in &states {
            check(snapshot, expect);
        }
    }
}
