//! The tables once more, in a network where every address there is answers: whatever got out would be counted.
//!
//! The test starts itself again in a network namespace of its own, in which all addresses are this machine's. There the
//! kernel counts packets and a listener notes which address each connection was made to.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use helve_egress::{Egress, EgressError, EgressSettings, LookUpName, Method, NameFuture, Outgoing, Url};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::vectors::{PUBLIC, attempt, guarded, look_up, names, refused};

const INSIDE: &str = "HELVE_TEST_NAMESPACE";
const TEST: &str = "namespace::no_packet_goes_to_a_place_that_is_not_public";
/// What an environment's proxy would listen on.
const PROXY: u16 = 3128;

#[test]
fn no_packet_goes_to_a_place_that_is_not_public() {
    if std::env::var_os(INSIDE).is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        return runtime.block_on(inside());
    }
    let Some(way) = way_in() else { return };
    let this = std::env::current_exe().unwrap();
    let mut command = unshare(way, this.to_str().unwrap());
    command.args(["--exact", TEST, "--nocapture"]).env(INSIDE, "1");
    for variable in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        command.env(variable, format!("http://127.0.0.1:{PROXY}"));
    }
    let done = command.output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout) + String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.contains("1 passed"), "{said}");
}

/// As anybody, and as root where nobody else may.
const WAYS: [&[&str]; 2] = [&["--user", "--map-root-user", "--net"], &["--net"]];

fn unshare(way: &[&str], program: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(way).arg(program).env("LC_ALL", "C");
    command
}

/// How a network namespace is made on this machine. None only where the kernel permits nobody to: `vectors` tries the
/// same tables without one. Whatever else is missing is a failure, which says what to do.
fn way_in() -> Option<&'static [&'static str]> {
    let mut told = String::new();
    for way in WAYS {
        let made = unshare(way, "ip").args(["link", "set", "lo", "up"]).output();
        let made = made.unwrap_or_else(|error| panic!("`unshare`: {error}; install util-linux"));
        if made.status.success() {
            return Some(way);
        }
        let said = String::from_utf8_lossy(&made.stderr).trim().to_owned();
        let forbidden = ["not permitted", "denied", "No space left on device"];
        let is_forbidden = forbidden.iter().any(|word| said.contains(word));
        assert!(
            is_forbidden,
            "`unshare {} ip link set lo up` fails: {said}; install iproute2",
            way.join(" ")
        );
        told = said;
    }
    let reason = format!(
        "the kernel permits no network namespace here ({told}); run it as root or with \
         `sysctl user.max_user_namespaces=10000`"
    );
    helve_test_support::skip_test(TEST, &reason);
    None
}

async fn inside() {
    for command in
        ["ip link set lo up", "ip -4 route add local 0.0.0.0/0 dev lo", "ip -6 route add local ::/0 dev lo"]
    {
        let done = Command::new("sh").args(["-c", command]).output().unwrap();
        assert!(done.status.success(), "{command}: {done:?}");
    }
    let world = World::new().await;
    addresses_and_names(&world).await;
    what_is_public_or_allowed(&world).await;
    redirects(&world).await;
    rebinding(&world).await;
    proxies_of_the_environment(&world).await;
}

/// Not one packet in the whole namespace.
async fn addresses_and_names(world: &World) {
    let egress = guarded(look_up());
    let before = packets();
    for text in refused() {
        let told = attempt(&egress, text).await;
        assert!(matches!(told, Err(EgressError::Refused(_))), "{text}: {told:?}");
    }
    for (name, _) in names() {
        let told = attempt(&egress, &format!("http://{name}/")).await;
        assert!(matches!(told, Err(EgressError::Refused(_))), "{name}: {told:?}");
    }
    assert_eq!(packets() - before, 0);
    assert_eq!(world.took(), BTreeMap::new());
}

/// The counters count: what may be reached is.
async fn what_is_public_or_allowed(world: &World) {
    let egress = guarded(look_up());
    let before = packets();
    for url in [
        "http://93.184.216.34/",
        "http://public.example.com/",
        "http://[2606:4700::1111]/",
        "http://[64:ff9b::8.8.8.8]/",
    ] {
        assert_eq!(attempt(&egress, url).await, Ok(()), "{url}");
    }
    assert!(packets() > before);
    assert_eq!(
        world.took(),
        [(PUBLIC, 2), ("2606:4700::1111", 1), ("64:ff9b::808:808", 1)].map(place).into()
    );
    let allow = ["10.0.0.1:8080", "gpu.lan", "fd00::/8", "metadata.example.com"].map(str::to_owned).into();
    let at_home = |name: String| -> NameFuture {
        let ip = if name == "gpu.lan" { "192.168.7.7" } else { "169.254.169.254" };
        Box::pin(async move { Ok(vec![ip.parse().unwrap()]) })
    };
    let egress =
        Egress::with_resolver(EgressSettings { allow, ..EgressSettings::default() }, Arc::new(at_home))
            .unwrap();
    for (url, fine) in [
        ("http://10.0.0.1:8080/", true),
        ("http://10.0.0.1/", false),
        ("http://10.0.0.2:8080/", false),
        ("http://gpu.lan/", true),
        ("http://[fd00::7]/", true),
        ("http://[fd00:ec2::254]/", false),
        ("http://metadata.example.com/", false),
    ] {
        assert_eq!(attempt(&egress, url).await.is_ok(), fine, "{url}");
    }
    assert_eq!(world.took(), [("10.0.0.1", 1), ("192.168.7.7", 1), ("fd00::7", 1)].map(place).into());
}

/// A public server sends us to every address of the tables, and nobody but itself is ever asked.
async fn redirects(world: &World) {
    let egress = guarded(look_up());
    let named = names().into_iter().map(|(name, _)| format!("http://{name}/"));
    let mut hops = 0;
    for text in refused().into_iter().map(str::to_owned).chain(named) {
        // A place relative to the server's own is a place of the server's own.
        let location = text.trim().to_owned();
        let Ok(absolute) = Url::parse(&location) else { continue };
        *world.location.lock().unwrap() = Some(absolute.to_string());
        let request = Outgoing {
            redirects: 3,
            ..Outgoing::new(Method::GET, Url::parse("http://public.example.com/start").unwrap())
        };
        let told = egress.send(request).await.unwrap_err();
        assert!(matches!(told, EgressError::Refused(_)), "{location}: {told:?}");
        hops += 1;
    }
    *world.location.lock().unwrap() = None;
    assert!(hops > 400, "{hops}");
    assert_eq!(world.took(), [(PUBLIC, hops)].map(place).into());
}

/// A name server that says something else each time is asked once for each connection, and its answer is what is used.
async fn rebinding(world: &World) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let alternating: LookUpName = Arc::new(move |_| -> NameFuture {
        let even = count.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
        let ip = if even { PUBLIC } else { "127.0.0.1" };
        Box::pin(async move { Ok(vec![ip.parse().unwrap()]) })
    });
    let egress = guarded(alternating);
    let mut reached = 0;
    for attempts in 1..=20 {
        reached += usize::from(attempt(&egress, "http://rebind.example.com/").await.is_ok());
        assert_eq!(asked.load(Ordering::Relaxed), attempts);
    }
    assert_eq!(reached, 10);
    assert_eq!(world.took(), [(PUBLIC, 10)].map(place).into());
}

/// The variables are set, as they were for everything above.
async fn proxies_of_the_environment(world: &World) {
    assert!(std::env::var("HTTP_PROXY").is_ok());
    assert_eq!(attempt(&guarded(look_up()), "http://public.example.com/").await, Ok(()));
    assert_eq!(world.took(), [(PUBLIC, 1)].map(place).into());
}

fn place((ip, connections): (&str, usize)) -> (IpAddr, usize) {
    (ip.parse().unwrap(), connections)
}

/// Everybody that could be reached: who was connected to, and where they send us.
#[derive(Default)]
struct World {
    taken: Arc<Mutex<BTreeMap<IpAddr, usize>>>,
    location: Arc<Mutex<Option<String>>>,
}

impl World {
    async fn new() -> Self {
        let world = Self::default();
        let ports = refused().into_iter().filter_map(|text| Url::parse(text).ok()?.port_or_known_default());
        let ports: std::collections::BTreeSet<u16> =
            ports.chain([80, 443, 8080, PROXY]).filter(|port| *port > 0).collect();
        for port in ports {
            let listener = TcpListener::bind(("::", port)).await.unwrap();
            let (taken, location) = (world.taken.clone(), world.location.clone());
            tokio::spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let at = stream.local_addr().unwrap().ip().to_canonical();
                    *taken.lock().unwrap().entry(at).or_default() += 1;
                    let location = location.lock().unwrap().clone();
                    tokio::spawn(answer(stream, location));
                }
            });
        }
        world
    }

    /// How many connections each address has got since this was asked last.
    fn took(&self) -> BTreeMap<IpAddr, usize> {
        std::mem::take(&mut *self.taken.lock().unwrap())
    }
}

async fn answer(mut stream: TcpStream, location: Option<String>) {
    let mut head = [0; 4_096];
    _ = stream.read(&mut head).await;
    let reply = match location {
        Some(location) => format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\n"),
        None => "HTTP/1.1 200 OK\r\n".to_owned(),
    };
    _ = stream.write_all(format!("{reply}content-length: 0\r\nconnection: close\r\n\r\n").as_bytes()).await;
}

/// Packets that were sent in this namespace, as the kernel counted them.
fn packets() -> u64 {
    let devices = std::fs::read_to_string("/proc/self/net/dev").unwrap();
    let sent = |line: &str| line.split_whitespace().nth(10).and_then(|count| count.parse::<u64>().ok());
    devices.lines().skip(2).filter_map(sent).sum()
}
