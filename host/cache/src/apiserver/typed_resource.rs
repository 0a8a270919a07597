//! Types that name their resource.

use informant_apimachinery::GroupVersionResource;

/// A type of one resource: any of k8s-openapi's types with metadata, any type that kube's `CustomResource` derives, or
/// your own implementation of [`kube::Resource`].
pub trait TypedResource {
    /// Its resource, by group, version and plural.
    fn resource() -> GroupVersionResource;
}

impl<K: kube::Resource<DynamicType = ()>> TypedResource for K {
    fn resource() -> GroupVersionResource {
        GroupVersionResource::new(K::group(&()), K::version(&()), K::plural(&()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::apps::v1::Deployment;
    use k8s_openapi::api::core::v1::{Endpoints, Pod};
    use k8s_openapi::api::networking::v1::NetworkPolicy;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
    use std::borrow::Cow;

    #[track_caller]
    fn check<K: TypedResource>(expect: &str) {
        assert_eq!(Ok(K::resource()), expect.parse());
    }

    #[test]
    fn types_of_kubernetes_name_their_resources() {
        check::<Pod>("v1/pods");
        check::<Endpoints>("v1/endpoints");
        check::<Deployment>("apps/v1/deployments");
        check::<NetworkPolicy>("networking.k8s.io/v1/networkpolicies");
    }

    /// As kube's derive macro would write it.
    struct Widget {
        metadata: ObjectMeta,
    }

    impl kube::Resource for Widget {
        type DynamicType = ();
        type Scope = kube::core::NamespaceResourceScope;
        fn kind((): &()) -> Cow<'_, str> {
            "Widget".into()
        }
        fn group((): &()) -> Cow<'_, str> {
            "example.com".into()
        }
        fn version((): &()) -> Cow<'_, str> {
            "v1alpha1".into()
        }
        fn plural((): &()) -> Cow<'_, str> {
            "widgets".into()
        }
        fn meta(&self) -> &ObjectMeta {
            &self.metadata
        }
        fn meta_mut(&mut self) -> &mut ObjectMeta {
            &mut self.metadata
        }
    }

    #[test]
    fn so_do_types_of_custom_resources() {
        check::<Widget>("example.com/v1alpha1/widgets");
    }
}
