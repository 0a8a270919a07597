//! The credentials of each request, asked for by one thread at a time.
//!
//! kube reads a token file or runs a program when the last token is about to expire. A file on a lost volume and a
//! program without its network may never answer. So a thread of its own asks, and no second one begins before its end,
//! whichever request gave up waiting.
//!
//! kube's errors quote the program's arguments, environment and output, among which are secrets, and everybody can read
//! why an informer does not sync. So no error here has kube's words about a program.

use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, Response};
use kube::Config;
use kube::client::{AuthError, Body, ConfigExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io, thread};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, oneshot};
use tokio::time::{Instant, timeout};
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Layer as _, ServiceExt as _};

/// The time for which one answer is used. kube renews a token with an end a minute before it.
const KEPT: Duration = Duration::from_secs(10);
/// The longest wait of a request. A program may ask a server of its own.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// A service account's token has some 1,000 bytes.
const TOKEN_BYTES_MAX: u64 = 1 << 20;

/// The `authorization` header of the next request. A clone shares the last answer.
#[derive(Clone)]
pub(super) struct Credentials {
    source: CredentialSource,
    last: Arc<Mutex<Option<Answer>>>,
}

#[derive(Clone)]
struct CredentialSource {
    token_file: Option<PathBuf>,
    /// Answers with the headers that kube adds to a request. It may block.
    kube: BoxCloneSyncService<Request<Body>, Response<()>, BoxError>,
}

struct Answer {
    header: Option<HeaderValue>,
    since: Instant,
}

impl Credentials {
    /// `None` for a configuration without credentials in headers. Asks for them a first time, and blocks meanwhile.
    pub(super) fn new(config: &Config) -> Result<Option<Self>, kube::Error> {
        let token_file = config.auth_info.token_file.as_ref().map(PathBuf::from);
        if let Some(path) = &token_file {
            let problem = |error| AuthError::ReadTokenFile(error, path.clone());
            check(path).map_err(problem).map_err(kube::Error::Auth)?;
        }
        // kube takes for granted that a token may stand in a header.
        let user = serde_json::to_value(&config.auth_info).map_err(kube::Error::SerdeError)?;
        if let Some(token) = user["token"].as_str() {
            let problem = |error| kube::Error::Auth(AuthError::InvalidBearerToken(error));
            HeaderValue::from_str(token).map_err(problem)?;
        }
        let Some(layer) = config.auth_layer().map_err(without_secrets)? else { return Ok(None) };
        let headers = tower::service_fn(|request: Request<Body>| async {
            let mut response = Response::new(());
            *response.headers_mut() = request.into_parts().0.headers;
            Ok::<_, BoxError>(response)
        });
        let kube = BoxCloneSyncService::new(layer.layer(headers));
        Ok(Some(Self { source: CredentialSource { token_file, kube }, last: Arc::default() }))
    }

    /// Adds the header to a request.
    ///
    /// # Errors
    /// The credentials cannot be had, or not within 30 s.
    pub(super) async fn add(self, mut request: Request<Body>) -> Result<Request<Body>, BoxError> {
        let late = |_| {
            let seconds = WAIT_MAX.as_secs();
            format!("the credentials for the API server did not come within {seconds} s")
        };
        if let Some(header) = timeout(WAIT_MAX, self.header()).await.map_err(late)?? {
            request.headers_mut().insert(AUTHORIZATION, header);
        }
        Ok(request)
    }

    async fn header(self) -> Result<Option<HeaderValue>, BoxError> {
        let mut last = self.last.lock_owned().await;
        if let Some(answer) = last.as_ref().filter(|answer| answer.since.elapsed() < KEPT) {
            return Ok(answer.header.clone());
        }
        let (sender, receiver) = oneshot::channel();
        let runtime = Handle::current();
        // No task for blocking work: the end of a runtime waits for these. The thread holds the lock until its answer.
        thread::Builder::new().name("credentials".to_owned()).spawn(move || {
            let header = runtime.block_on(self.source.ask());
            if let Ok(header) = &header {
                *last = Some(Answer { header: header.clone(), since: Instant::now() });
            }
            drop(last);
            let _ = sender.send(header);
        })?;
        receiver.await?
    }
}

impl CredentialSource {
    async fn ask(self) -> Result<Option<HeaderValue>, BoxError> {
        if let Some(path) = &self.token_file {
            check(path).map_err(|error| {
                format!("the token file {} cannot be read: {error}", path.display())
            })?;
        }
        let response = self.kube.oneshot(Request::new(Body::empty())).await;
        let response = response.map_err(|error| problem(error.downcast_ref()))?;
        Ok(response.headers().get(AUTHORIZATION).cloned())
    }
}

fn without_secrets(error: kube::Error) -> kube::Error {
    match error {
        kube::Error::Auth(AuthError::ReadTokenFile(..)) => error,
        kube::Error::Auth(error) => kube::Error::Auth(AuthError::AuthExec(problem(Some(&error)))),
        error => error,
    }
}

/// An error of kube's in words that anybody may read.
fn problem(error: Option<&AuthError>) -> String {
    let program = "the program for the credentials (`exec` in the kubeconfig)";
    match error {
        Some(AuthError::AuthExecRun { out, .. }) => {
            format!("{program} failed with {}; run it by hand to see its reason", out.status)
        }
        Some(AuthError::AuthExecStart(error)) => format!("{program} cannot be started: {error}"),
        Some(AuthError::UnrefreshableTokenResponse) => {
            format!("{program} gave no token with an end, and gave one before")
        }
        Some(
            AuthError::AuthExecParse(_)
            | AuthError::ExecPluginFailed
            | AuthError::MalformedTokenExpirationDate(_)
            | AuthError::ParseTokenKey(_),
        ) => format!("{program} gave no ExecCredential; run it by hand to see its output"),
        Some(AuthError::MissingCommand | AuthError::ExecMissingClusterInfo) => {
            format!("{program} has no command, or needs a cluster that is not given")
        }
        Some(AuthError::InvalidBearerToken(_)) => {
            "the token for the API server has characters that no header may have".to_owned()
        }
        _ => "the credentials for the API server cannot be used".to_owned(),
    }
}

/// Whether kube may read the token file: it reads all of it.
fn check(path: &Path) -> io::Result<()> {
    let file = fs::metadata(path)?;
    if !file.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    if file.len() > TOKEN_BYTES_MAX {
        return Err(io::Error::other(format!("it has more than {TOKEN_BYTES_MAX} bytes")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex as Lock;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::sync::mpsc;

    /// Credentials whose source blocks until the sender says a token, and the number of times that it was asked.
    fn blocking() -> (Credentials, mpsc::Sender<&'static str>, Arc<AtomicUsize>) {
        let (sender, receiver) = mpsc::channel();
        let (receiver, asked) = (Arc::new(Lock::new(receiver)), Arc::<AtomicUsize>::default());
        let counted = asked.clone();
        let kube = tower::service_fn(move |_: Request<Body>| {
            counted.fetch_add(1, Relaxed);
            let receiver = receiver.clone();
            async move {
                let token: &str = receiver.lock().recv()?;
                Ok::<_, BoxError>(Response::builder().header(AUTHORIZATION, token).body(())?)
            }
        });
        let source = CredentialSource { token_file: None, kube: BoxCloneSyncService::new(kube) };
        (Credentials { source, last: Arc::default() }, sender, asked)
    }

    #[tokio::test]
    async fn requests_that_give_up_ask_no_second_time() {
        let (credentials, sender, asked) = blocking();
        for _ in 0..3 {
            let header = credentials.clone().header();
            let given_up = timeout(Duration::from_millis(1), header).await;
            assert!(given_up.is_err(), "nothing was said yet");
        }
        sender.send("Bearer a").expect("the source waits");
        let request = credentials.clone().add(Request::new(Body::empty())).await;
        let request = request.expect("the first thread's answer");
        assert_eq!(request.headers()[AUTHORIZATION], "Bearer a");
        assert_eq!(asked.load(Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_that_hangs_fails_each_request_by_itself() {
        let (credentials, _sender, asked) = blocking();
        for _ in 0..2 {
            let error = credentials.clone().add(Request::new(Body::empty())).await;
            let error = error.expect_err("nobody says anything").to_string();
            assert_eq!(error, "the credentials for the API server did not come within 30 s");
        }
        assert!(asked.load(Relaxed) <= 1, "one thread");
    }

    #[tokio::test]
    async fn a_source_that_fails_is_asked_again_and_an_answer_is_kept() {
        let (credentials, sender, asked) = blocking();
        sender.send("no\nheader").expect("the source waits");
        assert!(credentials.clone().header().await.is_err());
        sender.send("Bearer b").expect("the source waits");
        for _ in 0..2 {
            let header = credentials.clone().header().await.expect("an answer");
            assert_eq!(header.expect("a header"), "Bearer b");
        }
        assert_eq!(asked.load(Relaxed), 2);
    }

    /// The errors of a program with these words, at the client's start and later.
    #[track_caller]
    fn check_problem(script: &str, expect: &str) {
        let user = kube::config::AuthInfo {
            exec: serde_json::from_value(serde_json::json!({
                "apiVersion": "client.authentication.k8s.io/v1", "command": "sh",
                "args": ["-c", format!("{script} # SECRET")], "interactiveMode": "Never",
                "env": [{"name": "WORD", "value": "SECRET"}],
            }))
            .expect("a program"),
            ..Default::default()
        };
        let mut config = Config::new("http://127.0.0.1:1".parse().expect("a URI"));
        config.auth_info = user;
        let error = Credentials::new(&config).err().expect("it gives no token").to_string();
        assert!(error.ends_with(expect) && !error.contains("SECRET"), "{error}");
    }

    #[test]
    fn nothing_of_a_program_for_credentials_is_in_an_error() {
        let program = "the program for the credentials (`exec` in the kubeconfig)";
        check_problem(
            "echo SECRET; echo SECRET >&2; exit 3",
            &format!("{program} failed with exit status: 3; run it by hand to see its reason"),
        );
        let nothing = format!("{program} gave no ExecCredential; run it by hand to see its output");
        check_problem(r#"echo '{"status": {"token": "SECRET"'"#, &nothing);
        check_problem(
            r#"echo '{"status": {"token": "a", "expirationTimestamp": "SECRET"}}'"#,
            &nothing,
        );
    }

    #[test]
    fn a_token_with_a_line_end_is_an_error() {
        let mut config = Config::new("http://127.0.0.1:1".parse().expect("a URI"));
        config.auth_info.token = Some("SECRET\n".to_owned().into());
        let error = Credentials::new(&config).err().expect("no header takes it").to_string();
        assert!(!error.contains("SECRET"), "{error}");
    }

    #[test]
    fn a_token_file_is_regular_and_short() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("token");
        let file = fs::File::create(&path).expect("it is new");
        file.set_len(TOKEN_BYTES_MAX).expect("a length");
        check(&path).expect("as long as may be");
        file.set_len(TOKEN_BYTES_MAX + 1).expect("a length");
        assert_eq!(
            check(&path).expect_err("too long").to_string(),
            "it has more than 1048576 bytes"
        );
        let error = check(directory.path()).expect_err("a directory").to_string();
        assert_eq!(error, "it is no regular file");
    }
}
