//! The dashboard: a page for browsers at `/ui`, and the files that it consists of. They are a part of the program. The page
//! uses the same paths as any other client.

use super::answers::message;
use super::operations::{self, ServedOperation};
use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;

/// A file of the page.
struct PageFile {
    name: &'static str,
    content_type: &'static str,
    text: &'static str,
}

macro_rules! files {
    ($content_type:literal: $($name:literal),* $(,)?) => {
        &[$(PageFile {
            name: $name,
            content_type: $content_type,
            text: include_str!(concat!("dashboard/", $name)),
        }),*]
    };
}

const SCRIPTS: &[PageFile] = files!("text/javascript; charset=utf-8":
    "main.js", "client.js", "history.js", "elements.js", "units.js", "plot.js", "flow.js", "differences.js", "table.js",
    "overview.js", "plugins.js", "plugin.js", "actions.js", "outcome.js", "letters.js", "log.js", "changes.js", "objects.js", "object.js", "informers.js", "health.js",
);
const STYLES: &[PageFile] = files!("text/css; charset=utf-8": "style.css");
const PAGES: &[PageFile] = files!("text/html; charset=utf-8": "index.html");

/// The page loads nothing from elsewhere, runs no script but its own, sends nothing elsewhere, and is in no frame.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) fn table() -> [ServedOperation; 3] {
    let [redirect, page, any] = &operations::DASHBOARD;
    [
        redirect.by(get(async || Redirect::temporary("/ui/"))),
        page.by(get(async || file("index.html"))),
        any.by(get(async |Path(name): Path<String>| file(&name))),
    ]
}

fn file(name: &str) -> Response {
    let mut files = [SCRIPTS, STYLES, PAGES].into_iter().flatten();
    match files.find(|file| file.name == name) {
        Some(file) => {
            let headers = [
                (header::CONTENT_TYPE, HeaderValue::from_static(file.content_type)),
                (
                    header::CONTENT_SECURITY_POLICY,
                    HeaderValue::from_static(CONTENT_SECURITY_POLICY),
                ),
                (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
                // Another version of the program has other files.
                (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
            ];
            (headers, file.text).into_response()
        }
        None => message(StatusCode::NOT_FOUND, "the dashboard has no such file; its page is /ui/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files that a file names: scripts by imports, pages by attributes.
    fn named(file: &PageFile) -> Vec<&'static str> {
        let after = |mark: &str, end: char| {
            let rest = file.text.split(mark).skip(1);
            rest.filter_map(|rest| rest.split(end).next()).collect::<Vec<_>>()
        };
        let attributes = ["src=\"", "rel=\"stylesheet\" href=\""].map(|mark| after(mark, '"'));
        [after("from './", '\''), attributes.concat()].concat()
    }

    #[test]
    fn every_file_is_named_by_another_and_is_there() {
        let files = || [SCRIPTS, STYLES, PAGES].into_iter().flatten();
        let named: std::collections::BTreeSet<&str> = files().flat_map(named).collect();
        for name in &named {
            assert_eq!(file(name).status(), StatusCode::OK, "{name}");
        }
        for PageFile { name, .. } in files().filter(|file| file.name != "index.html") {
            assert!(named.contains(name), "no file names {name}");
        }
    }

    #[test]
    fn an_unknown_file_is_not_found() {
        assert_eq!(file("..%2f").status(), StatusCode::NOT_FOUND);
    }

    /// The texts of the cluster and of plugins come into the page as texts.
    #[test]
    fn no_script_reads_markup() {
        for PageFile { name, text, .. } in SCRIPTS {
            for word in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                "style=",
            ] {
                assert!(!text.contains(word), "{name} has {word}");
            }
        }
    }
}
