//! TLS to a real PostgreSQL, with certificates that `openssl` makes for the test.

use std::path::Path;
use std::process::Command;

use helve_store::Store;
use helve_test_support::{PostgresServer, Shutdown, find_postgres_programs};

use super::postgres::serve;

fn openssl(dir: &Path, line: &str) -> bool {
    let done = Command::new("openssl").args(line.split(' ')).current_dir(dir).output();
    done.is_ok_and(|done| done.status.success())
}

/// An authority `ca.pem`, and a certificate of it for `localhost` with its key.
fn make_certificates(dir: &Path) -> bool {
    let name = "subjectAltName=DNS:localhost\n";
    std::fs::write(dir.join("name"), name).unwrap();
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(dir, &format!("req -x509 {key} -keyout ca.key -out ca.pem -days 2 -subj /CN=lab"))
        && openssl(dir, &format!("req {key} -keyout server.key -out server.csr -subj /CN=localhost"))
        && openssl(
            dir,
            "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile name -out server.pem",
        )
}

/// Why a store is not opened there.
async fn refused(url: &str) -> String {
    serve(url).await.err().unwrap_or_else(|| panic!("{url} was opened")).to_string()
}

#[tokio::test]
async fn a_server_is_trusted_only_with_a_certificate_for_its_name_from_a_known_authority() {
    let (Some(programs), made) = (find_postgres_programs(), tempfile::tempdir().unwrap()) else {
        helve_test_support::skip_test("TLS to PostgreSQL", "no PostgreSQL is installed");
        return;
    };
    if !make_certificates(made.path()) {
        helve_test_support::skip_test("TLS to PostgreSQL", "there is no `openssl` to make certificates");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    open_to_all(place.path());
    let mut server = PostgresServer::start_new(&programs, place.path(), &[("fsync", "off")]).unwrap();
    let with_tls = |host: &str, more: &str| {
        format!("postgres://postgres@{host}:{}/postgres?sslmode=verify-full{more}", server.port())
    };
    let ca = format!("&sslrootcert={}", made.path().join("ca.pem").display());
    let without = refused(&with_tls("localhost", &ca)).await;
    assert!(without.contains("server does not support TLS"), "{without}");

    let read = |name: &str| std::fs::read_to_string(made.path().join(name)).unwrap();
    server.add_file("server.pem", &read("server.pem")).unwrap();
    server.add_file("server.key", &read("server.key")).unwrap();
    // Nobody comes in without TLS.
    server.add_file("pg_hba.conf", "hostssl all all 127.0.0.1/32 trust\n").unwrap();
    let (port, url) = (server.port(), server.url("postgres"));
    let with_tls = |host: &str, more: &str| {
        format!("postgres://postgres@{host}:{port}/postgres?sslmode=verify-full{more}")
    };
    server.stop(Shutdown::Fast).unwrap();
    for (name, value) in [("ssl", "on"), ("ssl_cert_file", "server.pem"), ("ssl_key_file", "server.key")] {
        server.set(name, value);
    }
    server.start().unwrap();

    let plain = refused(&url).await;
    assert!(plain.contains("no encryption"), "{plain}");
    let unknown = refused(&with_tls("localhost", "")).await;
    assert!(unknown.contains("name the file of its authority with `sslrootcert=/path/ca.pem`"), "{unknown}");
    let wrong_name = refused(&with_tls("127.0.0.1", &ca)).await;
    assert!(wrong_name.contains("use a name of the host that it is for"), "{wrong_name}");
    let no_file = refused(&with_tls("localhost", "&sslrootcert=/nowhere/ca.pem")).await;
    assert!(no_file.contains("the file of `sslrootcert` cannot be used: /nowhere/ca.pem"), "{no_file}");
    let no_certificate = format!("&sslrootcert={}", made.path().join("name").display());
    let no_certificate = refused(&with_tls("localhost", &no_certificate)).await;
    assert!(no_certificate.contains("it holds no certificate"), "{no_certificate}");

    let store = serve(&with_tls("localhost", &ca)).await.unwrap();
    store.check().await.unwrap();
    store.close().await.unwrap();
}

/// PostgreSQL runs as another user than the test.
pub(crate) fn open_to_all(dir: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755)).unwrap();
}
