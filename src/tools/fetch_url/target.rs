//! What a URL asks for, read by one parser and judged by what that parser understood. Looks nothing up.

use std::net::IpAddr;

use url::{Host, Url};

use super::address::{Reach, reach};

/// Longest URL, in bytes.
const LONGEST: usize = 8 * 1024;
/// Ports of services that take orders from whoever can write to them, and 3000, where a server of ours would listen.
const SHUT: [u16; 49] = [
    1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 53, 69, 79, 110, 111, 119, 123, 135, 137, 139, 143, 161,
    389, 445, 465, 514, 587, 636, 873, 993, 995, 1433, 2049, 2375, 2379, 3000, 3306, 3389, 5432, 5900, 6379, 9200,
    11211, 27017,
];
/// Names under which clouds give a machine its keys.
const KEYS: [&str; 5] =
    ["metadata.google.internal", "metadata", "instance-data", "instance-data.ec2.internal", "metadata.azure.internal"];

/// A page to be fetched: where to connect, and what to say there.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// Canonical: no user, no fragment, no dot behind the host.
    pub(super) url: Url,
    /// The host is named by a person, so it may lie in a private network.
    pub(super) is_listed: bool,
}

/// Hosts that a person opened, each `host` or `host:port`; `*.` before a host stands for any name below it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hosts(Vec<(String, Option<u16>)>);

impl Hosts {
    /// Reads entries as they are written in settings.
    ///
    /// # Errors
    /// The first that is no host, in a sentence.
    pub fn read<S: AsRef<str>>(entries: &[S]) -> Result<Hosts, String> {
        entries.iter().map(|entry| host(entry.as_ref())).collect::<Result<_, _>>().map(Hosts)
    }

    /// Whether the host may be private, and whether the port is opened by name.
    fn allow(&self, name: &str, port: u16) -> (bool, bool) {
        let is_meant = |entry: &str| match entry.strip_prefix("*.") {
            Some(above) => name.strip_suffix(above).is_some_and(|below| below.ends_with('.')),
            None => entry == name,
        };
        let ports: Vec<Option<u16>> =
            self.0.iter().filter(|(entry, _)| is_meant(entry)).map(|(_, port)| *port).collect();
        let by_port = ports.contains(&Some(port));
        (by_port || ports.contains(&None), by_port)
    }
}

fn host(entry: &str) -> Result<(String, Option<u16>), String> {
    let wrong = || format!("{entry} is no host; write one like wiki.corp.example, *.corp.example or 10.0.0.5:8080");
    let (any, name) = entry.trim().strip_prefix("*.").map_or(("", entry.trim()), |name| ("*.", name));
    let bare_v6 = name.parse::<std::net::Ipv6Addr>().is_ok();
    let url = if bare_v6 { format!("http://[{name}]/") } else { format!("http://{name}/") };
    let url = Url::parse(&url).map_err(|_| wrong())?;
    let plain = url.path() == "/" && url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    let host = url.host_str().filter(|_| plain).ok_or_else(wrong)?;
    // A parser drops the port that is usual for http.
    let port = url.port().or_else(|| name.ends_with(":80").then_some(80));
    Ok((format!("{any}{}", host.trim_end_matches('.')), port))
}

impl Target {
    /// Reads a URL.
    ///
    /// # Errors
    /// A sentence with what is wrong, and the URL as it was understood.
    pub(super) fn read(text: &str, hosts: &Hosts) -> Result<Target, String> {
        let text = text.trim();
        if text.len() > LONGEST {
            return Err(format!("the URL has {} bytes; at most {LONGEST} are read", text.len()));
        }
        // The parser would drop or turn these; nobody writes them in good faith.
        if let Some(odd) = text.chars().find(|c| c.is_control() || c.is_whitespace() || *c == '\\') {
            return Err(format!("the URL contains {odd:?}; write it as %{:02X}", u32::from(odd)));
        }
        let url = Url::parse(text).map_err(|error| {
            let text: String = text.chars().take(200).collect();
            format!("{text:?} is no URL: {error}; write it whole, like https://example.com/page")
        })?;
        Target::of(url, hosts)
    }

    /// The page that a redirection leads to.
    pub(super) fn next(&self, location: &str, hosts: &Hosts) -> Result<Target, String> {
        if location.len() > LONGEST || location.contains(|c: char| c.is_control() || c == '\\') {
            return Err(format!("{} redirects to something that is no URL", self.url));
        }
        let url = self.url.join(location).map_err(|error| format!("{} redirects to no URL: {error}", self.url))?;
        Target::of(url, hosts)
    }

    fn of(mut url: Url, hosts: &Hosts) -> Result<Target, String> {
        if !matches!(url.scheme(), "http" | "https") {
            let scheme = url.scheme();
            return Err(format!(
                "{scheme}: is not fetched, only http: and https:; local files are read with read_file"
            ));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("the URL holds a user or password; leave out what stands before the @".to_owned());
        }
        url.set_fragment(None);
        let bare = url.host_str().map(|host| host.trim_end_matches('.').to_owned()).unwrap_or_default();
        url.set_host(Some(&bare)).map_err(|_| format!("{url} names no host"))?;
        let port = url.port_or_known_default().unwrap_or_default();
        let (is_listed, is_open) = hosts.allow(&bare, port);
        if SHUT.contains(&port) && !is_open {
            return Err(format!("{url} is not fetched: port {port} belongs to a service that is no web server"));
        }
        let target = Target { url, is_listed };
        target.judge_host()?;
        Ok(target)
    }

    /// What can be said before anything is looked up: names of this machine, and addresses, which no resolver sees.
    fn judge_host(&self) -> Result<(), String> {
        match self.url.host() {
            Some(Host::Ipv4(v4)) => self.judge(&[IpAddr::V4(v4)]),
            Some(Host::Ipv6(v6)) => self.judge(&[IpAddr::V6(v6)]),
            Some(Host::Domain(name)) if KEYS.contains(&name) => Err(self.refusal(Reach::Keys, None)),
            Some(Host::Domain(name)) if name == "localhost" || name.ends_with(".localhost") => {
                if self.is_listed {
                    Ok(())
                } else {
                    Err(self.refusal(Reach::Private, None))
                }
            }
            Some(Host::Domain(_)) => Ok(()),
            None => Err(format!("{} names no host", self.url)),
        }
    }

    /// Whether the host may be reached at these addresses: every one of them must be allowed, for nobody says which is
    /// taken.
    pub(super) fn judge(&self, addresses: &[IpAddr]) -> Result<(), String> {
        let worst = addresses.iter().map(|address| (reach(*address), *address)).max();
        match worst {
            None => Err(format!("{} has no address", self.url)),
            Some((Reach::Public, _)) => Ok(()),
            Some((Reach::Private, _)) if self.is_listed => Ok(()),
            Some((reach, address)) => Err(self.refusal(reach, Some(address))),
        }
    }

    fn refusal(&self, reach: Reach, address: Option<IpAddr>) -> String {
        let at = address.map(|address| format!(" at {address}")).unwrap_or_default();
        match reach {
            Reach::Keys => format!("{} is not fetched{at}: machines keep their keys there", self.url),
            Reach::Private | Reach::Public => format!(
                "{} is not fetched{at}: it is not on the public internet; a person can open the host with fetch_hosts in \
                 ~/.tillerman/config.yaml",
                self.url
            ),
        }
    }
}
