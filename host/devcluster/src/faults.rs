//! Faults on demand: tests use them to make the server misbehave.

use std::time::Duration;

use informant_apimachinery::Status;
use informant_apiserver::ResourcePath;
use parking_lot::Mutex;

/// The faults in force. Shared with the server; every change takes effect with the next request.
#[derive(Debug, Default)]
pub struct Faults {
    plan: Mutex<Plan>,
}

#[derive(Debug, Default)]
struct Plan {
    delay: Duration,
    failures: Vec<Failure>,
    forbidden: Vec<Forbidden>,
}

/// What a user may not do.
#[derive(Debug, PartialEq, Eq)]
struct Forbidden {
    user: String,
    /// The plural, in any group.
    resource: String,
    /// `None`: in all namespaces.
    namespace: Option<String>,
}

#[derive(Debug)]
struct Failure {
    /// The number of further requests that fail.
    left: usize,
    /// Only requests whose method, path and query contain this text fail.
    matching: String,
    status: Status,
}

impl Faults {
    /// Every request waits this long before it is handled.
    pub fn delay(&self, delay: Duration) {
        self.plan.lock().delay = delay;
    }

    /// The next `count` requests whose `METHOD /path?query` contains `matching` are answered with `status`.
    /// `continue=` matches second pages, `sendInitialEvents` matches watch-lists, and the empty text matches
    /// everything.
    pub fn fail_next(&self, count: usize, matching: impl Into<String>, status: Status) {
        if count == 0 {
            return;
        }
        let failure = Failure { left: count, matching: matching.into(), status };
        self.plan.lock().failures.push(failure);
    }

    /// From now on, requests of `user` for a resource (its plural) are answered with 403, in one namespace or in all.
    /// [`Self::allow`] ends the fault. As on a real server, open watches go on.
    ///
    /// A client names its user with `Impersonate-User`. The server does not check the name.
    pub fn forbid(&self, user: &str, resource: &str, namespace: Option<&str>) {
        self.allow(user, resource, namespace);
        self.plan.lock().forbidden.push(forbidden(user, resource, namespace));
    }

    /// Ends the fault of a call of [`Self::forbid`] with the same arguments.
    pub fn allow(&self, user: &str, resource: &str, namespace: Option<&str>) {
        let taken_back = forbidden(user, resource, namespace);
        self.plan.lock().forbidden.retain(|rule| *rule != taken_back);
    }

    /// Ends all faults.
    pub fn clear(&self) {
        *self.plan.lock() = Plan::default();
    }

    /// The faults for a request: a delay, then possibly a failure.
    pub(crate) fn meet(&self, request: &str) -> (Duration, Option<Status>) {
        let mut plan = self.plan.lock();
        let met = plan.failures.iter_mut().find(|failure| request.contains(&failure.matching));
        let status = met.map(|failure| {
            failure.left -= 1;
            failure.status.clone()
        });
        plan.failures.retain(|failure| failure.left > 0);
        (plan.delay, status)
    }

    /// Whether a user is forbidden to use a resource in this namespace.
    pub(crate) fn forbids(&self, user: &str, resource: &str, namespace: Option<&str>) -> bool {
        let plan = self.plan.lock();
        plan.forbidden.iter().any(|rule| {
            let there = rule.namespace.is_none() || rule.namespace.as_deref() == namespace;
            there && rule.user == user && rule.resource == resource
        })
    }

    /// The refusal of a request that the user may not make.
    pub(crate) fn refusal(&self, user: &str, verb: &str, path: &ResourcePath) -> Option<Status> {
        let gvr = &path.gvr;
        if !self.forbids(user, &gvr.resource, path.namespace.as_deref()) {
            return None;
        }
        let (resource, group) = (&gvr.resource, &gvr.group);
        let scope = match &path.namespace {
            Some(namespace) => format!("in the namespace {namespace:?}"),
            None => "at the cluster scope".to_owned(),
        };
        let why = format!(
            "User {user:?} cannot {verb} resource {resource:?} in API group {group:?} {scope}"
        );
        Some(Status::forbidden(gvr, path.name.as_deref().unwrap_or_default(), &why))
    }
}

fn forbidden(user: &str, resource: &str, namespace: Option<&str>) -> Forbidden {
    Forbidden {
        user: user.to_owned(),
        resource: resource.to_owned(),
        namespace: namespace.map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use informant_apiserver::Route;

    use super::*;

    #[track_caller]
    fn check(faults: &Faults, request: &str, code: Option<u16>) {
        assert_eq!(faults.meet(request).1.map(|status| status.code), code, "{request}");
    }

    #[test]
    fn failures_meet_what_they_match_and_no_more_than_they_should() {
        let faults = Faults::default();
        faults.fail_next(2, "continue=", Status::service_unavailable("planned"));
        faults.fail_next(0, "", Status::internal_error("never"));
        check(&faults, "GET /api/v1/pods?limit=1", None);
        check(&faults, "GET /api/v1/pods?limit=1&continue=x", Some(503));
        check(&faults, "GET /api/v1/pods?limit=1&continue=x", Some(503));
        check(&faults, "GET /api/v1/pods?limit=1&continue=x", None);
    }

    #[track_caller]
    fn check_user(faults: &Faults, user: &str, path: &str, expect: Option<&str>) {
        let Route::Resource(path) = Route::parse(path) else { panic!("{path} names no resource") };
        let refusal = faults.refusal(user, "list", &path);
        assert_eq!(refusal.map(|status| status.message).as_deref(), expect);
    }

    #[test]
    fn user_is_forbidden_what_was_said_and_nothing_else() {
        let faults = Faults::default();
        let pods = "/api/v1/namespaces/a/pods";
        faults.forbid("reader", "pods", Some("a"));
        let message = "pods is forbidden: User \"reader\" cannot list resource \"pods\" in API \
                       group \"\" in the namespace \"a\"";
        check_user(&faults, "reader", pods, Some(message));
        check_user(&faults, "admin", pods, None);
        check_user(&faults, "reader", "/api/v1/namespaces/b/pods", None);
        check_user(&faults, "reader", "/api/v1/namespaces/a/configmaps", None);
        faults.allow("reader", "pods", Some("a"));
        check_user(&faults, "reader", pods, None);

        faults.forbid("reader", "deployments", None);
        let message = "deployments.apps is forbidden: User \"reader\" cannot list resource \
                       \"deployments\" in API group \"apps\" at the cluster scope";
        check_user(&faults, "reader", "/apis/apps/v1/deployments", Some(message));
    }
}
