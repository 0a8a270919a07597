//! An object as API servers write it: no white space, no escapes in the keys and names that matter, each key once.
//!
//! Says `None` wherever it would have to think; `careful.rs` does. What it says is what `careful.rs` would have said.

use super::scanner::Scanner;
use super::{Cuts, LAST_APPLIED, LastApplied, Scan};
use crate::object::OwnerReference;
use informant_apimachinery::watch::INITIAL_EVENTS_END;
use std::borrow::Cow;

const OBJECT: [u8; 2] = *b"{}";
const ARRAY: [u8; 2] = *b"[]";

/// More labels than objects usually have are looked through more cleverly elsewhere.
const LABELS_MAX: usize = 16;

pub(super) fn scan(text: &str, last_applied: LastApplied) -> Option<Scan<'_>> {
    let json = text.as_bytes();
    let mut scanner = Scanner::new(text)?;
    let mut scan = Scan { cuts: Cuts::new(last_applied), ..Scan::default() };
    let mut has_metadata = false;
    scanner.each(OBJECT, |scanner| {
        let start = scanner.at();
        match scanner.key()? {
            "apiVersion" => {
                scan.api_version = Some(scanner.value()?);
                scan.cuts.entry(json, start, scanner.at());
            }
            "kind" => {
                scan.kind = Some(scanner.value()?);
                scan.cuts.entry(json, start, scanner.at());
            }
            "metadata" if has_metadata => return None,
            "metadata" => {
                has_metadata = true;
                scan.has_other_fields = true;
                metadata(scanner, json, &mut scan)?;
            }
            _ => {
                scan.has_other_fields = true;
                scanner.skip_value()?;
            }
        }
        Some(())
    })?;
    scanner.is_at_end().then_some(scan)
}

fn metadata<'a>(scanner: &mut Scanner<'a>, json: &[u8], scan: &mut Scan<'a>) -> Option<()> {
    let Scan { metadata, cuts, .. } = scan;
    scanner.each(OBJECT, |scanner| {
        let start = scanner.at();
        match scanner.key()? {
            "name" => metadata.name = text(scanner)?,
            "namespace" => metadata.namespace = text(scanner)?,
            "uid" => metadata.uid = text(scanner)?,
            "resourceVersion" => metadata.resource_version = text(scanner)?,
            "generation" => metadata.generation = Some(generation(scanner.value()?)?),
            "labels" => labels(scanner, &mut metadata.labels)?,
            "ownerReferences" => owners(scanner, &mut metadata.owners)?,
            "annotations" => metadata.initial_events_end = annotations(scanner, json, cuts)?,
            "managedFields" => {
                scanner.skip_value()?;
                cuts.entry(json, start, scanner.at());
            }
            _ => scanner.skip_value()?,
        }
        Some(())
    })
}

/// Answers whether the end of a watch-list's initial events is marked.
fn annotations(scanner: &mut Scanner<'_>, json: &[u8], cuts: &mut Cuts) -> Option<bool> {
    let mut initial_events_end = false;
    scanner.each(OBJECT, |scanner| {
        let start = scanner.at();
        match scanner.key()? {
            LAST_APPLIED if cuts.last_applied == LastApplied::Cut => {
                scanner.skip_value()?;
                cuts.entry(json, start, scanner.at());
                cuts.lacks_last_applied = true;
            }
            INITIAL_EVENTS_END => initial_events_end = scanner.string()? == "true",
            _ => scanner.skip_value()?,
        }
        Some(())
    })?;
    Some(initial_events_end)
}

/// Without a sign: serde_json takes -0 for a float.
fn generation(text: &str) -> Option<i64> {
    text.parse::<u64>().ok()?.try_into().ok()
}

fn text<'a>(scanner: &mut Scanner<'a>) -> Option<Cow<'a, str>> {
    scanner.string().map(Cow::Borrowed)
}

fn labels<'a>(
    scanner: &mut Scanner<'a>,
    labels: &mut Vec<(Cow<'a, str>, Cow<'a, str>)>,
) -> Option<()> {
    stands_once(labels)?;
    scanner.each(OBJECT, |scanner| {
        let key = scanner.key()?;
        if labels.len() == LABELS_MAX || labels.iter().any(|(known, _)| known == key) {
            return None;
        }
        labels.push((Cow::Borrowed(key), text(scanner)?));
        Some(())
    })
}

fn owners<'a>(scanner: &mut Scanner<'a>, owners: &mut Vec<OwnerReference<'a>>) -> Option<()> {
    stands_once(owners)?;
    scanner.each(ARRAY, |scanner| {
        let mut owner = OwnerReference::default();
        scanner.each(OBJECT, |scanner| match scanner.key()? {
            "apiVersion" => fill(&mut owner.api_version, scanner),
            "kind" => fill(&mut owner.kind, scanner),
            "name" => fill(&mut owner.name, scanner),
            "uid" => fill(&mut owner.uid, scanner),
            "controller" if owner.controller.is_some() => None,
            "controller" => {
                owner.controller = Some(scanner.value()?.parse().ok()?);
                Some(())
            }
            _ => scanner.skip_value(),
        })?;
        owners.push(owner);
        Some(())
    })
}

/// Nothing was put there by an earlier entry of the same name.
fn stands_once<T>(list: &[T]) -> Option<()> {
    list.is_empty().then_some(())
}

/// A field of an owner, which may not stand twice.
fn fill<'a>(field: &mut Cow<'a, str>, scanner: &mut Scanner<'a>) -> Option<()> {
    stands_once(field.as_bytes())?;
    *field = text(scanner).filter(|text| !text.is_empty())?;
    Some(())
}
