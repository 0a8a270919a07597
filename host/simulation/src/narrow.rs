//! A handler of a part of the objects that names the part, so that the informer visits it for few other changes.

use informant_apimachinery::LabelSelector;
use informant_cache::{
    Cause, FilteringResourceEventHandler, FinalState, Interest, Object, ResourceEventHandler, Scope,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A part of the objects of a resource.
#[derive(Clone)]
pub(crate) struct Narrow {
    interest: Interest,
    pub(crate) scope: Scope,
}

impl Narrow {
    pub(crate) fn random(random: &mut fastrand::Rng) -> Self {
        if random.bool() {
            let all = ["default", "kube-public", "kube-system"];
            let names: BTreeSet<String> =
                all.into_iter().filter(|_| random.bool()).map(str::to_owned).collect();
            let names =
                if names.is_empty() { BTreeSet::from(["default".to_owned()]) } else { names };
            let scope = Scope::namespaces(names.iter().map(String::as_str));
            return Self { interest: Interest::Namespaces(Arc::new(names)), scope };
        }
        let values = ["red", "blue"][..=random.usize(..2)].iter().copied();
        let selector = format!("app in ({})", values.clone().collect::<Vec<_>>().join(","));
        let selector = selector.parse::<LabelSelector>().unwrap_or_default();
        let values = values.map(str::to_owned).collect();
        let interest = Interest::Label { key: "app".to_owned(), values };
        Self { interest, scope: Scope::all().with_labels(selector) }
    }

    /// The handler of this part.
    pub(crate) fn handler(
        self,
        told: Arc<dyn ResourceEventHandler>,
    ) -> Arc<dyn ResourceEventHandler> {
        let Self { interest, scope } = self;
        let handler = Interested { interest, told };
        Arc::new(FilteringResourceEventHandler::new(move |object| scope.contains(object), handler))
    }
}

struct Interested {
    interest: Interest,
    told: Arc<dyn ResourceEventHandler>,
}

impl ResourceEventHandler for Interested {
    fn interest(&self) -> Interest {
        self.interest.clone()
    }

    fn on_add(&self, object: &Object, cause: Cause) {
        self.told.on_add(object, cause);
    }

    fn on_update(&self, old: &Object, new: &Object, cause: Cause) {
        self.told.on_update(old, new, cause);
    }

    fn on_delete(&self, last: &Object, final_state: FinalState, cause: Cause) {
        self.told.on_delete(last, final_state, cause);
    }

    fn on_synced(&self) {
        self.told.on_synced();
    }
}
