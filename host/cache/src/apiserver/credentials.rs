//! The credentials of each request, and the connections that are made with them. One thread at a time renews both.
//!
//! kube reads a token file or runs a program when the last token is about to expire. A file on a lost volume and a
//! program without its network may never answer. So a thread of its own asks. No second one begins before its end, also
//! if the request waits no longer. Where nothing but files of certificates can change, no request waits for the thread.
//!
//! kube's errors quote the program's arguments, environment and output, among which are secrets. Callers without rights
//! can read the errors of an informer. So no error here has kube's words about a program.

mod tls_files;

use crate::error_causes::with_causes;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, Response};
use kube::Config;
use kube::client::{AuthError, Body, ConfigExt as _};
use parking_lot::Mutex as Lock;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io, panic, thread};
use tls_files::TlsFiles;
use tokio::runtime;
use tokio::sync::{Mutex, OwnedMutexGuard, oneshot};
use tokio::time::{Instant, timeout};
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Layer as _, Service, ServiceExt as _};
use tracing::{info, warn};

/// The time for which one answer is used. kube renews a token with an end a minute before it.
const KEPT: Duration = Duration::from_secs(10);
/// The same for a failure, so that requests that wait together ask once.
const FAILURE_KEPT: Duration = Duration::from_secs(2);
/// The longest wait of a request. A program may ask a server of its own.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// A service account's token has some 1,000 bytes, some hundred authorities have 200 KiB.
const FILE_BYTES_MAX: u64 = 1 << 20;

const NO_HEADER: &str =
    "the token for the API server has characters that no header may have, such as a line end";

/// The `authorization` header and the connections of the next request. A clone shares the last answer.
///
/// `S` sends requests over connections of its own. Another one replaces it when a file of certificates changes, because
/// an API server refuses a connection's requests after the end of the certificate with which the connection began.
pub(super) struct Credentials<S> {
    source: CredentialSource,
    last: Arc<Lock<Option<Answer<S>>>>,
    renewal: Arc<Mutex<Renewal<S>>>,
}

impl<S> Clone for Credentials<S> {
    fn clone(&self) -> Self {
        let Self { source, last, renewal } = self;
        Self { source: source.clone(), last: last.clone(), renewal: renewal.clone() }
    }
}

#[derive(Clone)]
struct CredentialSource {
    token_file: Option<PathBuf>,
    /// Whether the header may differ from the one before.
    header_changes: bool,
    /// Answers with the headers that kube adds to a request. It may block.
    kube: Option<BoxCloneSyncService<Request<Body>, Response<()>, BoxError>>,
}

/// The header and the connections of a request.
type Ready<S> = (Option<HeaderValue>, S);

#[derive(Clone)]
struct Answer<S> {
    ready: Result<Ready<S>, String>,
    /// `None`: for ever.
    until: Option<Instant>,
}

/// The files of certificates, and the connections that were made with them.
struct Renewal<S> {
    files: TlsFiles,
    connect: Box<Connect<S>>,
    connections: S,
    /// The last error, so that a lasting one is logged once.
    complaint: Option<String>,
}

/// Makes connections by a configuration.
type Connect<S> = dyn Fn(&Config) -> Result<S, kube::Error> + Send;

impl<S> Renewal<S> {
    /// Makes other connections if a file has changed. Those before stay if that cannot be used, as in kube and client-go.
    fn renew_connections(&mut self) {
        let renewed = self.files.read().and_then(|changed| {
            if changed {
                let connections = (self.connect)(self.files.config());
                self.connections = connections.inspect_err(|_| self.files.forget_contents())?;
            }
            Ok(())
        });
        let complaint = renewed.err().map(|error| with_causes(&error));
        if complaint == self.complaint {
            return;
        }
        match &complaint {
            Some(error) => warn!(
                error,
                "the files of certificates for the API server cannot be used; the last certificates stay in use; write a \
                 certificate with its key, or restore the file"
            ),
            None => info!("the files of certificates for the API server can be used again"),
        }
        self.complaint = complaint;
    }
}

impl<S> Credentials<S>
where
    S: Service<Request<Body>, Error: Into<BoxError>, Future: Send> + Clone + Send + 'static,
{
    /// Reads the files of a configuration, asks for a token a first time, and blocks meanwhile. `connect` gets a
    /// configuration without tokens and without files.
    pub(super) fn new(
        config: Config,
        connect: impl Fn(&Config) -> Result<S, kube::Error> + Send + 'static,
    ) -> Result<Self, kube::Error> {
        let mut files = TlsFiles::new(config);
        files.read()?;
        let source = CredentialSource::new(files.config())?;
        match &source.kube {
            Some(_) => files.forget_tokens(),
            // The program gives a certificate. kube runs it for each new connector, and passes over its errors.
            None if source.header_changes => files.forget_files(),
            None => {}
        }
        let connections = connect(files.config())?;
        let renewal = Renewal { files, connect: Box::new(connect), connections, complaint: None };
        Ok(Self { source, last: Arc::default(), renewal: Arc::new(Mutex::new(renewal)) })
    }

    /// Sends a request with the header.
    ///
    /// # Errors
    /// The credentials cannot be had, or not within 30 s; and those of `S`.
    pub(super) async fn send(self, mut request: Request<Body>) -> Result<S::Response, BoxError> {
        let late = |_| {
            let seconds = WAIT_MAX.as_secs();
            format!(
                "the credentials for the API server did not come within {seconds} s: a token file, a file of certificates \
                 or the kubeconfig's program for credentials does not answer"
            )
        };
        let (header, connections) = timeout(WAIT_MAX, self.ready()).await.map_err(late)??;
        if let Some(header) = header {
            request.headers_mut().insert(AUTHORIZATION, header);
        }
        connections.oneshot(request).await.map_err(Into::into)
    }

    async fn ready(self) -> Result<Ready<S>, BoxError> {
        if let Some(answer) = self.kept() {
            return Ok(answer.ready?);
        }
        if let Some(ready) = self.constant() {
            if let Ok(renewal) = self.renewal.clone().try_lock_owned() {
                // The next request begins it, if there is no thread for it now.
                drop(self.begin(renewal));
            }
            return Ok(ready);
        }
        let renewal = self.renewal.clone().lock_owned().await;
        match self.kept() {
            Some(answer) => Ok(answer.ready?),
            None => Ok(self.begin(renewal)?.await??),
        }
    }

    /// The last answer, while it is used.
    fn kept(&self) -> Option<Answer<S>> {
        let now = Instant::now();
        let last = self.last.lock();
        last.as_ref().filter(|answer| answer.until.is_none_or(|until| now < until)).cloned()
    }

    /// The last header and connections, if no other header can come.
    fn constant(&self) -> Option<Ready<S>> {
        let last = self.last.lock();
        last.as_ref().filter(|_| !self.source.header_changes)?.ready.clone().ok()
    }

    /// Begins the thread that renews both. The thread holds the lock until its answer. Its runtime is its own: the end of
    /// a runtime waits for its blocking work, which kube begins.
    fn begin(
        self,
        mut renewal: OwnedMutexGuard<Renewal<S>>,
    ) -> io::Result<oneshot::Receiver<Result<Ready<S>, String>>> {
        let (sender, receiver) = oneshot::channel();
        thread::Builder::new().name("credentials".to_owned()).spawn(move || {
            renewal.renew_connections();
            let runtime = runtime::Builder::new_current_thread().enable_all().build();
            let changes = self.source.header_changes || !renewal.files.is_empty();
            let header = runtime
                .map_err(|error| error.to_string())
                .and_then(|runtime| runtime.block_on(self.source.ask()));
            let kept = if header.is_ok() { KEPT } else { FAILURE_KEPT };
            let until = (changes || header.is_err()).then(|| Instant::now() + kept);
            let ready = header.map(|header| (header, renewal.connections.clone()));
            *self.last.lock() = Some(Answer { ready: ready.clone(), until });
            drop(renewal);
            let _ = sender.send(ready);
        })?;
        Ok(receiver)
    }
}

impl CredentialSource {
    fn new(config: &Config) -> Result<Self, kube::Error> {
        let user = &config.auth_info;
        // kube takes the file last but for a program.
        let has_password = user.username.is_some() && user.password.is_some();
        let is_used = user.auth_provider.is_none() && !has_password && user.token.is_none();
        let token_file = user.token_file.as_ref().filter(|_| is_used).map(PathBuf::from);
        if let Some(path) = &token_file {
            let problem = |error| AuthError::ReadTokenFile(error, path.clone());
            check(path).map_err(problem).map_err(kube::Error::Auth)?;
        }
        // kube panics for a token that no header may have.
        let layer = panic::catch_unwind(panic::AssertUnwindSafe(|| config.auth_layer()));
        let layer = layer.unwrap_or_else(|_| Err(kube::Error::Service(NO_HEADER.into())));
        let layer = layer.map_err(without_secrets)?;
        let headers = tower::service_fn(|request: Request<Body>| async {
            let mut response = Response::new(());
            *response.headers_mut() = request.into_parts().0.headers;
            Ok::<_, BoxError>(response)
        });
        let kube = layer.map(|layer| BoxCloneSyncService::new(layer.layer(headers)));
        let header_changes =
            token_file.is_some() || user.exec.is_some() || user.auth_provider.is_some();
        Ok(Self { token_file, header_changes, kube })
    }

    async fn ask(self) -> Result<Option<HeaderValue>, String> {
        // Without the file kube goes on with the last token, as client-go does (kubernetes/kubernetes#68164).
        if let Some(path) = self.token_file.as_ref().filter(|path| path.exists()) {
            check(path).map_err(|error| {
                format!("the token file {} cannot be read: {error}", path.display())
            })?;
        }
        let Some(kube) = self.kube else { return Ok(None) };
        let response = kube.oneshot(Request::new(Body::empty())).await;
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
    let program = "the kubeconfig's program for credentials";
    match error {
        Some(AuthError::AuthExecRun { out, .. }) => {
            format!("{program} failed with {}; run it by hand to see its reason", out.status)
        }
        Some(AuthError::AuthExecStart(error)) => format!("{program} cannot be started: {error}"),
        Some(AuthError::UnrefreshableTokenResponse) => {
            format!("{program} gave a token without an expirationTimestamp; the one before had it")
        }
        Some(
            AuthError::AuthExecParse(_)
            | AuthError::ExecPluginFailed
            | AuthError::MalformedTokenExpirationDate(_)
            | AuthError::ParseTokenKey(_),
        ) => format!("{program} gave no credential; run it by hand to see its output"),
        // kube's own words, without output.
        Some(AuthError::AuthExec(text)) => text.clone(),
        Some(AuthError::MissingCommand | AuthError::ExecMissingClusterInfo) => {
            format!("{program} has no command, or needs a cluster that is not given")
        }
        Some(AuthError::InvalidBearerToken(_)) => NO_HEADER.to_owned(),
        _ => "the credentials for the API server cannot be used".to_owned(),
    }
}

/// The content of a file that may be read whole.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    check(path)?;
    let mut content = Vec::new();
    fs::File::open(path)?.take(FILE_BYTES_MAX).read_to_end(&mut content)?;
    Ok(content)
}

/// Whether a file may be read whole.
fn check(path: &Path) -> io::Result<()> {
    let file = fs::metadata(path)?;
    if !file.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    if file.len() > FILE_BYTES_MAX {
        return Err(io::Error::other(format!("it has more than {FILE_BYTES_MAX} bytes")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::prelude::{BASE64_STANDARD, Engine as _};
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::sync::mpsc;

    /// Connections that answer each request with its own headers.
    type Echo = BoxCloneSyncService<Request<Body>, Response<()>, BoxError>;

    fn echo(_: &Config) -> Result<Echo, kube::Error> {
        let echo = tower::service_fn(|request: Request<Body>| async {
            let mut response = Response::new(());
            *response.headers_mut() = request.into_parts().0.headers;
            Ok::<_, BoxError>(response)
        });
        Ok(BoxCloneSyncService::new(echo))
    }

    fn config() -> Config {
        Config::new("http://127.0.0.1:1".parse().expect("a URI"))
    }

    /// Credentials whose source blocks until a token is sent, and the count of its calls.
    fn blocking() -> (Credentials<Echo>, mpsc::Sender<&'static str>, Arc<AtomicUsize>) {
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
        let kube = Some(BoxCloneSyncService::new(kube));
        let source = CredentialSource { token_file: None, header_changes: true, kube };
        let credentials = Credentials::new(config(), echo).expect("no files");
        (Credentials { source, ..credentials }, sender, asked)
    }

    /// Lets the last answer be too old.
    fn expire(credentials: &Credentials<Echo>) {
        if let Some(answer) = &mut *credentials.last.lock() {
            answer.until = Some(Instant::now());
        }
    }

    async fn send(credentials: &Credentials<Echo>) -> Result<Option<HeaderValue>, BoxError> {
        let response = credentials.clone().send(Request::new(Body::empty())).await?;
        Ok(response.headers().get(AUTHORIZATION).cloned())
    }

    #[tokio::test]
    async fn requests_that_give_up_ask_no_second_time() {
        let (credentials, sender, asked) = blocking();
        for _ in 0..3 {
            let given_up = timeout(Duration::from_millis(1), send(&credentials)).await;
            assert!(given_up.is_err(), "no token was sent yet");
        }
        sender.send("Bearer a").expect("the source waits");
        let header = send(&credentials).await.expect("the first thread's answer");
        assert_eq!(header.expect("a header"), "Bearer a");
        assert_eq!(asked.load(Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_that_hangs_fails_each_request_by_itself() {
        let (credentials, _sender, asked) = blocking();
        for _ in 0..2 {
            let error = send(&credentials).await.expect_err("no token is sent").to_string();
            assert!(
                error.starts_with("the credentials for the API server did not come within 30 s: "),
                "{error}"
            );
        }
        assert!(asked.load(Relaxed) <= 1, "one thread");
    }

    #[tokio::test]
    async fn requests_that_wait_together_share_a_failure_and_an_answer_is_kept() {
        let (credentials, sender, asked) = blocking();
        sender.send("no\nheader").expect("the source waits");
        for _ in 0..2 {
            assert!(send(&credentials).await.is_err());
        }
        assert_eq!(asked.load(Relaxed), 1);
        expire(&credentials);
        sender.send("Bearer b").expect("the source waits");
        for _ in 0..2 {
            let header = send(&credentials).await.expect("an answer");
            assert_eq!(header.expect("a header"), "Bearer b");
        }
        assert_eq!(asked.load(Relaxed), 2);
    }

    /// A user whose credentials come from this script.
    fn of_script(script: &str) -> Config {
        let user = kube::config::AuthInfo {
            exec: serde_json::from_value(serde_json::json!({
                "apiVersion": "client.authentication.k8s.io/v1", "command": "sh",
                "args": ["-c", format!("{script} # SECRET")], "interactiveMode": "Never",
                "env": [{"name": "WORD", "value": "SECRET"}],
            }))
            .expect("a program"),
            ..Default::default()
        };
        let mut config = config();
        config.auth_info = user;
        config
    }

    #[track_caller]
    fn check_problem(error: &str, expect: &str) {
        assert!(error.ends_with(expect) && !error.contains("SECRET"), "{error}");
    }

    #[track_caller]
    fn check_start(script: &str, expect: &str) {
        let error = Credentials::new(of_script(script), echo).err().expect("it gives no token");
        check_problem(&error.to_string(), expect);
    }

    #[test]
    fn nothing_of_a_program_for_credentials_is_in_an_error() {
        let program = "the kubeconfig's program for credentials";
        check_start(
            "echo SECRET; echo SECRET >&2; exit 3",
            &format!("{program} failed with exit status: 3; run it by hand to see its reason"),
        );
        let nothing = format!("{program} gave no credential; run it by hand to see its output");
        check_start(r#"echo '{"status": {"token": "SECRET"'"#, &nothing);
        check_start(
            r#"echo '{"status": {"token": "a", "expirationTimestamp": "SECRET"}}'"#,
            &nothing,
        );
        check_start(r#"echo '{"status": {"token": "SECRET\\n"}}'"#, NO_HEADER);
    }

    #[tokio::test]
    async fn nothing_of_a_program_is_in_an_error_of_a_later_request() {
        let directory = tempfile::tempdir().expect("a directory");
        let begun = directory.path().join("begun");
        let token =
            r#"{"status": {"token": "SECRET", "expirationTimestamp": "2000-01-01T00:00:00Z"}}"#;
        let script = format!(
            "if [ -e {0} ]; then echo SECRET >&2; exit 4; fi; touch {0}; echo '{token}'",
            begun.display()
        );
        let credentials = Credentials::new(of_script(&script), echo).expect("a token");
        let error = send(&credentials).await;
        let error = error.expect_err("the token is over, and the program fails").to_string();
        check_problem(&error, "failed with exit status: 4; run it by hand to see its reason");
    }

    #[tokio::test]
    async fn a_token_file_that_is_gone_leaves_the_last_token() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("token");
        fs::write(&path, "a").expect("it is written");
        let mut config = config();
        config.auth_info.token_file = Some(path.display().to_string());
        let credentials = Credentials::new(config, echo).expect("it can be read");
        fs::remove_file(&path).expect("it is there");
        let header = send(&credentials).await.expect("the last token");
        assert_eq!(header.expect("a header"), "Bearer a");
    }

    /// Lets the last answer be too old, and the thread that the next request begins come to its end.
    async fn renew(credentials: &Credentials<Echo>) {
        expire(credentials);
        send(credentials).await.expect("the last connections");
        drop(credentials.renewal.lock().await);
    }

    /// The certificate of the connections that a request gets.
    async fn certificate(credentials: &Credentials<Echo>) -> String {
        let header = send(credentials).await.expect("connections").expect("a certificate");
        let bytes = BASE64_STANDARD.decode(header.as_bytes()).expect("base64");
        String::from_utf8(bytes).expect("text")
    }

    #[tokio::test]
    async fn a_renewed_certificate_gets_connections_of_its_own() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("client.crt");
        let mut config = config();
        config.auth_info.client_certificate = Some(path.display().to_string());
        let of_certificate = |config: &Config| {
            let certificate = config.auth_info.client_certificate_data.clone();
            let answer = tower::service_fn(move |_| {
                let certificate = certificate.clone().unwrap_or_default();
                async move { Ok(Response::builder().header(AUTHORIZATION, certificate).body(())?) }
            });
            Ok(BoxCloneSyncService::new(answer))
        };
        let error = Credentials::new(config.clone(), of_certificate).err();
        let error = error.expect("there is no file").to_string();
        assert!(error.contains("client certificate") && error.contains("client.crt"), "{error}");
        fs::write(&path, "a").expect("it is written");
        let credentials = Credentials::new(config, of_certificate).expect("it can be read");
        assert_eq!(certificate(&credentials).await, "a");
        fs::write(&path, "b").expect("it is written");
        assert_eq!(certificate(&credentials).await, "a", "while the answer is kept");
        renew(&credentials).await;
        assert_eq!(certificate(&credentials).await, "b");
        fs::remove_file(&path).expect("it is there");
        renew(&credentials).await;
        assert_eq!(certificate(&credentials).await, "b", "the last one that could be read");
    }

    #[tokio::test]
    async fn a_renewal_that_hangs_holds_up_no_request_with_a_constant_header() {
        let mut config = config();
        config.auth_info.token = Some("a".to_owned().into());
        let credentials = Credentials::new(config, echo).expect("a token");
        let bearer = async || send(&credentials).await.expect("connections").expect("a header");
        assert_eq!(bearer().await, "Bearer a");
        expire(&credentials);
        let _hangs = credentials.renewal.clone().lock_owned().await;
        assert_eq!(bearer().await, "Bearer a");
    }

    #[test]
    fn a_token_with_a_line_end_is_an_error() {
        let mut config = config();
        config.auth_info.token = Some("SECRET\n".to_owned().into());
        let error = Credentials::new(config, echo).err().expect("no header takes it").to_string();
        assert!(!error.contains("SECRET"), "{error}");
    }

    #[test]
    fn a_token_file_is_regular_and_short() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("token");
        let file = fs::File::create(&path).expect("it is new");
        file.set_len(FILE_BYTES_MAX).expect("a length");
        check(&path).expect("as long as may be");
        file.set_len(FILE_BYTES_MAX + 1).expect("a length");
        assert_eq!(
            check(&path).expect_err("too long").to_string(),
            "it has more than 1048576 bytes"
        );
        let error = check(directory.path()).expect_err("a directory").to_string();
        assert_eq!(error, "it is no regular file");
    }
}
