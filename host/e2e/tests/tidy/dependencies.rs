//! The allowed dependencies between crates. ARCHITECTURE has the picture.

use crate::repository::Package;

/// The crates of the repository, and the others of them that each may depend on. The cluster and the program are at
/// the top.
const DIRECTION: &[(&str, &[&str])] = &[
    ("informant-apimachinery", &[]),
    // Quantities are parsed in one place.
    ("bandwidth", &["informant-plugin", "informant-apimachinery"]),
    ("informant-cache", &["informant-apimachinery"]),
    ("informant-apiserver", &["informant-apimachinery"]),
    ("informant-runtime", &["informant-cache", "informant-apimachinery"]),
    ("informant-devcluster", &["informant-apiserver", "informant-apimachinery"]),
    (
        "informant",
        &[
            "informant-runtime",
            "informant-cache",
            "informant-devcluster",
            "informant-apiserver",
            "informant-apimachinery",
        ],
    ),
    (
        "informant-simulation",
        &[
            "informant-cache",
            "informant-devcluster",
            "informant-apiserver",
            "informant-apimachinery",
        ],
    ),
    ("informant-fuzz", &[]),
    ("informant-plugin", &[]),
    ("informant-e2e", &["informant-cache", "informant-devcluster", "informant-apimachinery"]),
    ("informant-bench", &["informant-e2e", "informant-apiserver", "informant-apimachinery"]),
    ("bench-stamp", FOR_PLUGINS),
    ("bench-subscriber", FOR_PLUGINS),
];

/// Crates that all tests may use.
const FOR_TESTS: &[&str] = &["informant-fuzz"];

/// Crates that plugins and examples may use.
const FOR_PLUGINS: &[&str] = &["informant-plugin"];

/// A dependency, or a family of dependencies, and the crates that may use it.
const HEAVY: &[(&str, &[&str])] = &[
    ("wasmtime", &["informant-runtime"]),
    ("kube", &["informant-cache", "informant-simulation", "informant", "informant-e2e"]),
    // The cache's examples are programs; `names.rs` keeps it out of the library.
    ("anyhow", &["informant-cache", "informant", "informant-e2e", "informant-bench"]),
];

/// Complaints about dependencies between the repository's own crates, including those of tests.
pub fn direction(packages: &[Package]) -> Vec<String> {
    let mut complaints = Vec::new();
    for package in packages {
        let Some(allowed) = allowed(package) else {
            let complaint = "has no place in the table of directions (tests/tidy/dependencies.rs)";
            complaints.push(format!("{}: {complaint}", package.name));
            continue;
        };
        let ours = |name: &&String| packages.iter().any(|one| one.name == **name);
        for dependency in package.dependencies.iter().filter(ours) {
            let fine = allowed.contains(&dependency.as_str())
                || FOR_TESTS.contains(&dependency.as_str())
                || *dependency == package.name;
            if !fine {
                complaints.push(format!("{} may not depend on {dependency}", package.name));
            }
        }
    }
    complaints
}

fn allowed(package: &Package) -> Option<&'static [&'static str]> {
    let listed = DIRECTION.iter().find(|(name, _)| *name == package.name);
    let for_plugins = ["plugins/", "examples/", "plugin-sdk/"]
        .iter()
        .any(|place| package.directory.starts_with(place));
    listed.map(|(_, allowed)| *allowed).or(for_plugins.then_some(FOR_PLUGINS))
}

/// Complaints about heavy dependencies in other crates than the allowed ones.
pub fn heavy(packages: &[Package]) -> Vec<String> {
    let mut complaints = Vec::new();
    for package in packages {
        for (family, crates) in HEAVY {
            let of_family = |name: &String| {
                name.strip_prefix(family)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
            };
            let named = package.dependencies.iter().find(|name| of_family(name));
            if let Some(name) = named.filter(|_| !crates.contains(&package.name.as_str())) {
                let place = crates.join(", ");
                complaints.push(format!("{}: {name} belongs in {place} only", package.name));
            }
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, directory: &str, dependencies: &[&str]) -> Package {
        let dependencies = dependencies.iter().map(|&name| name.to_owned()).collect();
        Package { name: name.to_owned(), directory: directory.to_owned(), dependencies }
    }

    #[test]
    fn downwards_is_allowed_and_upwards_is_not() {
        let packages = [
            package("informant-cache", "host/cache", &["informant-apimachinery", "serde"]),
            package("informant-apimachinery", "host/apimachinery", &["informant-cache"]),
            package("counter", "plugins/counter", &["informant-plugin", "informant-cache"]),
            package("informant-plugin", "plugin-sdk/rust", &[]),
        ];
        let expect = [
            "informant-apimachinery may not depend on informant-cache",
            "counter may not depend on informant-cache",
        ];
        assert_eq!(direction(&packages), expect);
    }

    #[test]
    fn new_crate_must_find_its_place() {
        let complaints = direction(&[package("informant-new", "host/new", &[])]);
        assert_eq!(complaints.len(), 1);
        assert!(complaints[0].contains("has no place"), "{complaints:?}");
    }

    #[test]
    fn heavy_dependency_is_complained_of_in_the_wrong_crate() {
        let packages = [
            package("informant-runtime", "host/runtime", &["wasmtime", "wasmtime-wasi"]),
            package("informant-cache", "host/cache", &["kube", "wasmtime-wasi", "kubernetes"]),
            package("informant-apiserver", "host/apiserver", &["anyhow"]),
        ];
        let expect = [
            "informant-cache: wasmtime-wasi belongs in informant-runtime only",
            "informant-apiserver: anyhow belongs in informant-cache, informant, informant-e2e, informant-bench only",
        ];
        assert_eq!(heavy(&packages), expect);
    }
}
