//! Reads collections: the present state, or a past state that the log still covers.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use informant_apimachinery::Status;
use informant_apiserver::{
    ApiObject, Change, ListAt, ListPage, ListQuery, ResourceInfo, Selection,
};

use super::{ObjectName, Store, Table};

/// The objects whose past state differed from the present one. `None` if the object did not exist.
type Differences = BTreeMap<ObjectName, Option<Arc<ApiObject>>>;

impl Store {
    /// One object, in a state at least as new as the client requires.
    pub fn get(
        &self,
        resource: &ResourceInfo,
        namespace: Option<&str>,
        name: &str,
        at: ListAt,
    ) -> Result<Arc<ApiObject>, Status> {
        if let ListAt::NotOlderThan(version) = at {
            self.check_reached(version)?;
        }
        let key = (namespace.unwrap_or_default().to_owned(), name.to_owned());
        let found = self.table(resource)?.objects.get(&key).cloned();
        found.ok_or_else(|| Status::not_found(&resource.gvr, name))
    }

    /// One page of a collection.
    pub fn list(&self, query: &ListQuery) -> Result<ListPage, Status> {
        let table = self.table(&query.resource)?;
        let (version, differences) = match query.at {
            ListAt::MostRecent | ListAt::Any => (self.resource_version, Differences::new()),
            ListAt::NotOlderThan(version) => {
                self.check_reached(version)?;
                (self.resource_version, Differences::new())
            }
            ListAt::Exact(version) => {
                self.check_reached(version)?;
                (version, table.differences(version)?)
            }
        };
        let mut page = table.page(query, &differences);
        page.resource_version = version;
        Ok(page)
    }

    /// The present state of all selected objects, for the start of a watch.
    pub fn initial(
        &self,
        resource: &ResourceInfo,
        selection: &Selection,
    ) -> Result<Vec<Arc<ApiObject>>, Status> {
        let objects = self.table(resource)?.objects.values();
        Ok(objects.filter(|object| selection.selects(object)).cloned().collect())
    }

    /// Refuses a version that this server has not reached. A client may have it from another server.
    pub fn check_reached(&self, version: u64) -> Result<(), Status> {
        if version > self.resource_version {
            return Err(Status::too_large_resource_version(version, self.resource_version));
        }
        Ok(())
    }
}

impl Table {
    /// The differences to a past resourceVersion: undoes the log from its newest change down.
    fn differences(&self, version: u64) -> Result<Differences, Status> {
        let mut differences = Differences::new();
        let later = self.log.after(version).map_err(|_| {
            Status::expired("The resourceVersion for the provided list is too old.")
        })?;
        for change in later.rev() {
            let (object, before) = match change {
                Change::Added(object) => (object, None),
                Change::Modified { old, new } => (new, Some(Arc::clone(old))),
                Change::Deleted { old, .. } => (old, Some(Arc::clone(old))),
            };
            let key = (object.namespace().to_owned(), object.name().to_owned());
            differences.insert(key, before);
        }
        Ok(differences)
    }

    fn page(&self, query: &ListQuery, differences: &Differences) -> ListPage {
        let namespace = query.selection.namespace.as_deref();
        let start = match (&query.start_after, namespace) {
            (Some(after), _) => {
                let (namespace, name) = after.split_once('/').unwrap_or(("", after));
                Bound::Excluded((namespace.to_owned(), name.to_owned()))
            }
            (None, Some(namespace)) => Bound::Included((namespace.to_owned(), String::new())),
            (None, None) => Bound::Unbounded,
        };
        let in_scope = |key: &ObjectName| namespace.is_none_or(|namespace| key.0 == namespace);
        let mut objects = self
            .merged((start, Bound::Unbounded), differences)
            .take_while(|(key, _)| in_scope(key))
            .map(|(_, object)| object);
        let mut page = ListPage::default();
        for object in objects.by_ref() {
            if !query.selection.selects(object) {
                continue;
            }
            if query.limit > 0 && page.items.len() == query.limit {
                page.next = page.items.last().map(|last| key_text(last));
                // The count includes the present object. With selectors the count cannot be known.
                let countable = query.selection.has_no_selectors();
                page.remaining = countable.then(|| objects.count() + 1);
                break;
            }
            page.items.push(Arc::clone(object));
        }
        page
    }

    /// The objects of a range in order. A difference replaces the present object.
    fn merged<'a>(
        &'a self,
        range: (Bound<ObjectName>, Bound<ObjectName>),
        differences: &'a Differences,
    ) -> impl Iterator<Item = (&'a ObjectName, &'a Arc<ApiObject>)> {
        let mut present = self.objects.range(range.clone()).peekable();
        let mut different = differences.range(range).peekable();
        std::iter::from_fn(move || {
            loop {
                let take_present = match (present.peek(), different.peek()) {
                    (Some((key, _)), Some((other, _))) => key < other,
                    (Some(_), None) => true,
                    (None, Some(_)) => false,
                    (None, None) => return None,
                };
                if take_present {
                    return present.next();
                }
                let (key, before) = different.next()?;
                if present.peek().is_some_and(|(other, _)| *other == key) {
                    present.next();
                }
                if let Some(before) = before {
                    return Some((key, before));
                }
            }
        })
    }
}

/// `namespace/name`, the form in continue tokens.
fn key_text(object: &ApiObject) -> String {
    format!("{}/{}", object.namespace(), object.name())
}
