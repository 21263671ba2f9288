//! Where `fetch_url` does not go.

use std::sync::atomic::Ordering;

use serde_json::json;

use super::{Net, OPEN};
use crate::server::{Response, Server};

const CLOSED: &str = "is not on the public internet";
const KEYS: &str = "machines keep their keys there";

/// Refused by their text alone: nothing is looked up.
async fn denied(hosts: &[&str], urls: &[&str], why: &str) {
    let net = Net::of(hosts, |name, _| panic!("{name} was looked up"));
    for url in urls {
        let error = net.error(url).await;
        assert!(error.contains(why), "{url}: {error}");
    }
}

#[tokio::test]
async fn n01_this_machine_is_not_fetched() {
    let urls = [
        "http://127.0.0.1/",
        "http://127.9.9.9:8080/x",
        "http://localhost/",
        "https://LOCALHOST:8443",
        "http://a.localhost/",
        "http://[::1]/",
        "http://0.0.0.0/",
        "http://[::]/",
        "http://localhost./",
    ];
    denied(&[], &urls, CLOSED).await;
}

#[tokio::test]
async fn n02_what_gives_a_machine_its_keys_stays_shut_though_a_person_opens_it() {
    let urls = [
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/",
        "http://metadata.google.internal/",
        "http://metadata/",
        "http://169.254.170.2/",
        "http://[::ffff:169.254.169.254]/",
        "http://100.100.100.200/",
        "http://2852039166/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://METADATA.google.internal./",
    ];
    let open = ["169.254.169.254", "[fd00:ec2::254]", "metadata.google.internal", "metadata", "100.100.100.200"];
    denied(&open, &urls, KEYS).await;
    let net = Net::of(&["inner.test"], |_, _| vec!["10.0.0.1", "169.254.169.254"]);
    assert!(net.error("http://inner.test/").await.contains(KEYS));
}

#[tokio::test]
async fn n03_networks_that_are_nobodys_or_ones_own_are_not_fetched() {
    let urls = [
        "http://10.1.2.3/",
        "http://172.16.0.1/",
        "http://172.31.255.255/",
        "http://192.168.1.1/",
        "http://100.64.0.1/",
        "http://[fc00::1]/",
        "http://[fd12:3456::1]/",
        "http://224.0.0.1/",
        "http://[ff02::1]/",
        "http://255.255.255.255/",
        "http://192.0.0.8/",
        "http://198.18.0.1/",
        "http://198.19.255.1/",
        "http://192.0.2.1/",
        "http://198.51.100.7/",
        "http://203.0.113.7/",
        "http://240.0.0.1/",
        "http://[2001:db8::1]/",
        "http://[100::1]/",
        "http://[3fff::1]/",
    ];
    denied(&[], &urls, CLOSED).await;
    denied(&[], &["http://[fe80::1]/", "http://169.254.1.1/"], KEYS).await;
}

#[tokio::test]
async fn n04_numbers_in_disguise_are_read_before_they_are_judged() {
    let urls = [
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://0x7f000001/",
        "http://\u{ff11}\u{ff12}\u{ff17}.0.0.1/",
        "http://127.0.0.1./",
        "http://127\u{3002}0\u{3002}0\u{3002}1/",
        "http://0/",
        "http://%31%32%37.0.0.1/",
    ];
    denied(&[], &urls, CLOSED).await;
}

#[tokio::test]
async fn n05_addresses_inside_of_addresses_are_judged_too() {
    let urls = [
        "http://[::ffff:127.0.0.1]/",
        "http://[::127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://[2001:0:7f00:1::]/",
        "http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/",
        "http://[::ffff:0:127.0.0.1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://[64:ff9b:1::1]/",
        "http://[2a00::5efe:7f00:1]/",
        "http://[2002:808:808::1]/",
    ];
    denied(&[], &urls, CLOSED).await;
}

#[tokio::test]
async fn n06_a_public_name_with_any_private_address_is_not_fetched() {
    let mixed: [Vec<&'static str>; 4] = [
        vec!["10.0.0.1"],
        vec!["93.184.215.14", "127.0.0.1"],
        vec!["::1", "93.184.215.14"],
        vec!["93.184.215.14", "::ffff:192.168.0.1"],
    ];
    for addresses in mixed {
        let told = addresses.clone();
        let net = Net::of(&[], move |_, _| told.clone());
        let error = net.error("http://looks.public.example/").await;
        assert!(error.contains(CLOSED), "{addresses:?}: {error}");
    }
    let net = Net::of(&[], |_, _| vec![]);
    assert_eq!(net.error("http://nowhere.example/").await, "http://nowhere.example/ has no address");
}

/// N07, N08: the second answer of a name that changes is never asked for, and the connection goes to the first.
#[tokio::test]
async fn n07_n08_a_name_is_looked_up_once_and_connected_to_where_it_was_judged() {
    let server = Server::list([Response::with(200, &[("content-type", "text/plain")], "here")]);
    let net = Net::of(&OPEN, |_, count| if count == 0 { vec!["127.0.0.1"] } else { vec!["127.0.0.2"] });
    let url = server.base_url().replace("127.0.0.1", "site.test");
    assert_eq!(net.page(json!({ "url": url })).await.0, "here");
    assert_eq!(net.lookups.load(Ordering::SeqCst), 1);
    // An address needs no resolver, so none could have judged it.
    let literal = Net::of(&[], |_, _| vec!["93.184.215.14"]);
    assert!(literal.error(&server.base_url()).await.contains(CLOSED));
    assert_eq!((literal.lookups.load(Ordering::SeqCst), server.requests().len()), (0, 1));
}

fn moved(to: &str) -> Response {
    Response::with(302, &[("location", to)], "")
}

#[tokio::test]
async fn n09_each_redirection_is_judged() {
    let net = Net::of(&["site.test"], |name, _| if name == "site.test" { vec!["127.0.0.1"] } else { vec!["10.0.0.7"] });
    let table = [
        ("http://127.0.0.1:81/", CLOSED),
        ("http://other.example/", CLOSED),
        ("//[::1]/x", CLOSED),
        ("http://169.254.169.254/", KEYS),
        ("file:///etc/passwd", "file: is not fetched, only http: and https:"),
        ("gopher://site.test/", "gopher: is not fetched"),
        ("http://user:pw@site.test/", "the URL holds a user or password"),
        ("http://site.test:6379/", "port 6379 belongs to a service"),
        ("", "redirects in a circle"),
        ("http://\\evil", "redirects to something that is no URL"),
    ];
    for (to, why) in table {
        let server = Server::list([moved(to)]);
        let error = net.error(&server.base_url().replace("127.0.0.1", "site.test")).await;
        assert!(error.contains(why), "{to}: {error}");
    }
    let circle = Server::answer(|request| moved(if request.path == "/a" { "/b" } else { "/a" }));
    let at = circle.base_url().replace("127.0.0.1", "site.test");
    let error = net.error(&format!("{at}/a")).await;
    assert_eq!(error, format!("{at}/a redirects in a circle"));
    let mut count = 0;
    let endless = Server::answer(move |_| {
        count += 1;
        moved(&format!("/{count}"))
    });
    let at = endless.base_url().replace("127.0.0.1", "site.test");
    let error = net.error(&at).await;
    assert_eq!(error, format!("{at}/ redirects more than 5 times; the last is {at}/5"));
    assert_eq!(endless.requests().len(), 6);
}

#[tokio::test]
async fn n09_a_redirection_that_may_be_followed_is() {
    let server = Server::answer(|request| match request.path.as_str() {
        "/old" => moved("new?q=1#part"),
        _ => Response::with(200, &[("content-type", "text/plain")], &request.path),
    });
    let net = Net::here();
    let url = format!("{}/old", server.base_url());
    let told = net.bench.call("fetch_url", json!({ "url": url })).await.unwrap();
    assert!(told.text.contains("\n/new?q=1\n"), "{}", told.text);
    assert_eq!(told.details["url"], format!("{}/new?q=1", server.base_url()));
    assert_eq!(told.details["redirected_from"], json!([url]));
}

#[tokio::test]
async fn n11_there_is_one_reading_of_a_url() {
    let net = Net::of(&[], |_, _| vec!["10.0.0.1"]);
    let holds = "the URL holds a user or password; leave out what stands before the @";
    let at = |host: &str| {
        format!(
            "http://{host}/ is not fetched at 10.0.0.1: it is not on the public internet; a person can open the host with \
             fetch_hosts in ~/.tillerman/config.yaml"
        )
    };
    let table = [
        ("http://user@example.com/", holds.to_owned()),
        ("http://example.com@127.0.0.1/", holds.to_owned()),
        ("http://a:b@example.com/", holds.to_owned()),
        ("http://example.com\\@127.0.0.1/", "the URL contains '\\\\'; write it as %5C".to_owned()),
        ("http://exa\0mple.com/", "the URL contains '\\0'; write it as %00".to_owned()),
        ("http://exam\nple.com/", "the URL contains '\\n'; write it as %0A".to_owned()),
        ("http://b\u{fc}cher.example/", at("xn--bcher-kva.example")),
        ("HTTP://EXAMPLE.com.:80/#x", at("example.com")),
        ("http://ex%61mple.com", at("example.com")),
        ("file:///etc/passwd", "file: is not fetched, only http: and https:; local files are read with read_file".to_owned()),
        ("ftp://example.com/", "ftp: is not fetched, only http: and https:; local files are read with read_file".to_owned()),
        ("javascript:alert(1)", "javascript: is not fetched, only http: and https:; local files are read with read_file".to_owned()),
        ("example.com", "\"example.com\" is no URL: relative URL without a base; write it whole, like https://example.com/page".to_owned()),
        ("http://", "\"http://\" is no URL: empty host; write it whole, like https://example.com/page".to_owned()),
        ("http://a%00b/", "\"http://a%00b/\" is no URL: invalid international domain name; write it whole, like https://example.com/page".to_owned()),
    ];
    for (url, expected) in table {
        assert_eq!((url, net.error(url).await), (url, expected));
    }
    let long = format!("http://example.com/{}", "x".repeat(9000));
    assert_eq!(net.error(&long).await, "the URL has 9019 bytes; at most 8192 are read");
}

#[tokio::test]
async fn a_known_secret_leaves_by_no_address() {
    let mut net = Net::of(&[], |name, _| panic!("{name} was looked up"));
    net.bench.cx.secrets = tillerman::secret::Secrets::of([("WIKI_KEY", "canary-4711-canary")]);
    for url in ["http://example.com/?k=canary-4711-canary", "http://canary-4711-canary.example.com/"] {
        assert_eq!(net.error(url).await, "the URL holds a secret; nothing was sent");
    }
}

#[tokio::test]
async fn n12_ports_of_other_services_are_shut_unless_they_are_listed() {
    let net = Net::of(&["open.test:6379", "127.0.0.1"], |_, _| vec!["10.0.0.1"]);
    for port in [22, 25, 6379, 3000, 5432, 11211] {
        let error = net.error(&format!("http://127.0.0.1:{port}/")).await;
        let expected =
            format!("http://127.0.0.1:{port}/ is not fetched: port {port} belongs to a service that is no web server");
        assert_eq!(error, expected);
    }
    assert!(net.error("http://open.test:22/").await.contains("port 22"));
    assert!(net.error("http://open.test:81/").await.contains(CLOSED), "another port of it stays shut");
}

#[test]
fn hosts_are_opened_by_name_and_port() {
    use tillerman::tools::Hosts;
    assert!(Hosts::read(&["wiki.corp.example", "*.corp.example", "10.0.0.5:8080", "::1", "[fd00::1]:81"]).is_ok());
    for wrong in ["http://x/", "a/b", "", "a b", "user@x", "x:99999"] {
        let error = Hosts::read(&["ok.example", wrong]).unwrap_err();
        assert!(error.starts_with(&format!("{wrong} is no host; write one like wiki.corp.example")), "{error}");
    }
}
