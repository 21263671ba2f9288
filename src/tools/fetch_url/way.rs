//! The way to a page and back: names looked up once, connections only to addresses that were judged, each redirection
//! judged anew, bodies capped in bytes and time. What is in a body is not known here.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode};
use tokio::time::{Instant, timeout, timeout_at};
use url::Host;

use super::FetchSettings;
use super::target::Target;

/// Most redirections followed.
const HOPS: usize = 5;
/// Most bytes of a body, unpacked.
pub(super) const MAX_BODY: usize = 5 << 20;
/// Until a connection stands, and between two pieces of an answer.
const CONNECT: Duration = Duration::from_secs(15);
const IDLE: Duration = Duration::from_secs(15);

/// A page as it came.
pub(super) struct Page {
    /// Where it came from in the end.
    pub(super) target: Target,
    /// Where it was looked for before, in order.
    pub(super) hops: Vec<String>,
    pub(super) status: StatusCode,
    /// Its type as the server says, with parameters; empty when it says nothing.
    pub(super) kind: String,
    pub(super) body: Vec<u8>,
    /// Why the body is not all of it.
    pub(super) cut: Option<String>,
}

/// Fetches a page, following redirections.
///
/// # Errors
/// A sentence: what was refused, or what went wrong and where.
pub(super) async fn fetch(target: Target, settings: &FetchSettings) -> Result<Page, String> {
    let deadline = Instant::now() + settings.total;
    let mut target = target;
    let mut hops: Vec<String> = Vec::new();
    loop {
        let late = || format!("{} did not answer within {} s", target.url, settings.total.as_secs_f32());
        let response = timeout_at(deadline, ask(&target, settings)).await.map_err(|_| late())??;
        if !is_redirection(response.status()) {
            return page(target, hops, response, (deadline, settings.total)).await;
        }
        let location = header(response.headers(), LOCATION.as_str());
        hops.push(target.url.to_string());
        if hops.len() > HOPS {
            return Err(format!("{} redirects more than {HOPS} times; the last is {}", hops[0], target.url));
        }
        let next = target.next(&location, &settings.hosts);
        target = next.map_err(|why| format!("{} redirects elsewhere, and {why}", target.url))?;
        if hops.contains(&target.url.to_string()) {
            return Err(format!("{} redirects in a circle", target.url));
        }
    }
}

fn is_redirection(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// One request to addresses that are judged here and nowhere else.
async fn ask(target: &Target, settings: &FetchSettings) -> Result<Response, String> {
    let url = &target.url;
    let port = url.port_or_known_default().unwrap_or_default();
    let addresses = match url.host() {
        Some(Host::Ipv4(v4)) => vec![IpAddr::V4(v4)],
        Some(Host::Ipv6(v6)) => vec![IpAddr::V6(v6)],
        Some(Host::Domain(name)) => {
            settings.lookup.find(name).await.map_err(|error| format!("{name} cannot be found: {error}"))?
        }
        None => Vec::new(),
    };
    target.judge(&addresses)?;
    let judged = Judged(addresses.iter().map(|address| SocketAddr::new(*address, port)).collect());
    let client = client(judged).map_err(|error| format!("no connection can be made: {error}"))?;
    let accept = "text/markdown, text/html;q=0.9, application/json;q=0.9, text/*;q=0.8, */*;q=0.1";
    let response =
        client.get(url.clone()).header(ACCEPT, accept).send().await.map_err(|error| told(url.as_str(), &error))?;
    match response.remote_addr() {
        Some(peer) if !addresses.contains(&peer.ip()) => {
            Err(format!("{url} answered from {}, which was not asked", peer.ip()))
        }
        _ => Ok(response),
    }
}

/// A client of one request: no proxy, no cookie, no redirection, no name looked up a second time.
fn client(judged: Judged) -> Result<Client, reqwest::Error> {
    // A second installation fails and changes nothing, which is what is wanted.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("tillerman/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .read_timeout(IDLE)
        .redirect(Policy::none())
        .no_proxy()
        .referer(false)
        .pool_max_idle_per_host(0)
        .dns_resolver(Arc::new(judged))
        .build()
}

/// Answers with the addresses that were judged, whatever is asked.
struct Judged(Vec<SocketAddr>);

impl Resolve for Judged {
    fn resolve(&self, _name: Name) -> Resolving {
        let addresses: Addrs = Box::new(self.0.clone().into_iter());
        async move { Ok(addresses) }.boxed()
    }
}

/// The error with its causes: reqwest's own words say little.
fn told(url: &str, error: &reqwest::Error) -> String {
    let mut cause = std::error::Error::source(error);
    let mut last = None;
    while let Some(inner) = cause {
        last = Some(inner.to_string());
        cause = inner.source();
    }
    let why =
        if error.is_timeout() { "it took too long".to_owned() } else { last.unwrap_or_else(|| error.to_string()) };
    format!("{url} cannot be fetched: {why}")
}

fn header(headers: &HeaderMap, name: &str) -> String {
    headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).unwrap_or_default()
}

async fn page(
    target: Target,
    hops: Vec<String>,
    mut response: Response,
    (deadline, total): (Instant, Duration),
) -> Result<Page, String> {
    let (status, kind) = (response.status(), header(response.headers(), CONTENT_TYPE.as_str()));
    // What was unpacked has lost this header.
    let packed = header(response.headers(), CONTENT_ENCODING.as_str());
    if !packed.is_empty() && !packed.eq_ignore_ascii_case("identity") {
        let packed: String = packed.chars().take(60).collect();
        return Err(format!("{} is packed as {packed:?}, which is not unpacked here", target.url));
    }
    let mut body = Vec::new();
    let mut cut = None;
    loop {
        match timeout_at(deadline, timeout(IDLE, response.chunk())).await {
            Err(_) | Ok(Err(_)) => cut = Some(format!("the rest did not come within {} s", total.as_secs_f32())),
            Ok(Ok(Err(error))) => cut = Some(format!("the rest did not come: {}", told(target.url.as_str(), &error))),
            Ok(Ok(Ok(None))) => {}
            Ok(Ok(Ok(Some(piece)))) => {
                let room = MAX_BODY - body.len();
                body.extend_from_slice(&piece[..piece.len().min(room)]);
                if piece.len() <= room {
                    continue;
                }
                cut = Some(format!("the rest is beyond {} MB", MAX_BODY >> 20));
            }
        }
        break;
    }
    match &cut {
        Some(why) if body.is_empty() => Err(format!("{}: nothing came; {why}", target.url)),
        _ => Ok(Page { target, hops, status, kind, body, cut }),
    }
}
