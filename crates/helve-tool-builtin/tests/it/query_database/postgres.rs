//! PostgreSQL, in a database of each test's own. `cargo run -p xtask -- with-postgres cargo test -p helve-tool-builtin` starts one.

use expect_test::expect;
use tokio_postgres::{Client, NoTls};

use super::*;

struct Lab {
    url: String,
    shop: Shop,
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

impl Lab {
    /// None where there is no server: the test is skipped.
    async fn new(name: &str, change: impl FnOnce(Database) -> Database) -> Option<Self> {
        let Ok(server) = std::env::var("HELVE_TEST_POSTGRES") else {
            let reason = "there is no PostgreSQL; `cargo run -p xtask -- with-postgres cargo test` starts one for the tests";
            helve_test_support::skip_test(&format!("query_database on PostgreSQL: {name}"), reason);
            return None;
        };
        let root = connect(&server).await;
        root.batch_execute(&format!("DROP DATABASE IF EXISTS {name}")).await.unwrap();
        root.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
        let (place, _) = server.rsplit_once('/').unwrap();
        let url = format!("{place}/{name}");
        connect(&url)
            .await
            .batch_execute(
                "CREATE TYPE mood AS ENUM ('calm', 'wild');
                 CREATE TABLE orders (id bigint PRIMARY KEY, customer text NOT NULL, total numeric, note bytea,
                     at timestamptz, tags text[], extra jsonb, mood mood, exact numeric);
                 INSERT INTO orders VALUES
                     (1, '王芳', 12.50, '\\x6869', '2026-03-29 15:30:00+02', '{a,b}', '{\"k\": [1, null]}', 'wild',
                      123456789012345678901234567890.5),
                     (2, 'Bob', NULL, NULL, NULL, NULL, NULL, NULL, 'NaN');
                 CREATE SEQUENCE numbers;
                 CREATE FUNCTION dropper() RETURNS int LANGUAGE sql AS 'SELECT 1';
                 CREATE FUNCTION sneaky(x int) RETURNS int LANGUAGE sql AS 'SELECT 1';
                 CREATE FUNCTION sneaky(x orders) RETURNS int LANGUAGE sql AS 'SELECT 1';
                 CREATE FUNCTION lower(x orders) RETURNS int LANGUAGE sql AS 'SELECT 1';
                 CREATE FUNCTION evil(x text) RETURNS int LANGUAGE sql AS 'SELECT 1';
                 CREATE VIEW names AS SELECT customer FROM orders;",
            )
            .await
            .unwrap();
        let database = Database::new("shop", &SecretString::from(url.clone())).unwrap();
        Some(Self { url, shop: Shop::new(change(database)) })
    }
}

#[tokio::test]
async fn every_type_comes_back_as_the_value_it_is() {
    let Some(lab) = Lab::new("types", |database| database).await else { return };
    let sql = "SELECT *, id AS id FROM orders ORDER BY 1 -- all of them";
    let output = lab.shop.ask(json!({"sql": sql})).await.unwrap();
    let data = output.data.unwrap();
    assert_eq!(
        data["rows"][0],
        json!({
            "id": 1, "customer": "王芳", "total": 12.5, "note": "\\x6869", "at": "2026-03-29T13:30:00+00:00",
            "tags": ["a", "b"], "extra": {"k": [1, null]}, "mood": "wild",
            "exact": "123456789012345678901234567890.5", "id_2": 1
        })
    );
    assert_eq!(data["rows"][1]["exact"], "NaN");
    lab.shop
        .check(
            "SELECT customer, $2::numeric + 1 AS n FROM orders WHERE id = $1 AND at > $3",
            json!([1, 0.5, "2026-01-01"]),
            expect![[r#"
                customer | n
                ---
                王芳 | 1.5
                (1 row)"#]],
        )
        .await;
    lab.shop
        .check(
            "VALUES (NULL::int, true)",
            json!([]),
            expect![[r#"
                column1 | column2
                ---
                NULL | true
                (1 row)"#]],
        )
        .await;
}

#[tokio::test]
async fn the_tables_are_described() {
    let Some(lab) = Lab::new("described", |database| database).await else { return };
    let described = lab.shop.ask(json!({"describe": true})).await.unwrap().text;
    expect![[r#"
        shop is a PostgreSQL database; placeholders are $1, $2.
        view names(customer text)
        orders(id bigint not null, customer text not null, total numeric, note bytea, at timestamp with time zone, tags ARRAY, extra jsonb, mood USER-DEFINED, exact numeric)"#]]
    .assert_eq(&described);
}

#[tokio::test]
async fn nothing_can_be_written_whatever_is_tried() {
    let Some(lab) = Lab::new("unwritten", |database| database).await else { return };
    lab.shop
        .refuses(&[
            "INSERT INTO orders (id, customer) VALUES (9, 'x')",
            "UPDATE orders SET total = 0",
            "DELETE FROM orders",
            "WITH gone AS (DELETE FROM orders RETURNING *) SELECT * FROM gone",
            "WITH added AS (INSERT INTO orders (id, customer) VALUES (9, 'x') RETURNING id) SELECT * FROM added",
            "SELECT * INTO copied FROM orders",
            "SELECT * FROM orders FOR UPDATE",
            "SELECT nextval('numbers')",
            "SELECT set_config('transaction_read_only', 'off', true)",
            "SELECT set_config('transaction_read_only', 'off', false)",
            "TRUNCATE orders",
            "DROP TABLE orders",
            "CREATE TABLE x (a int)",
            "COPY orders TO '/tmp/orders'",
            "COPY (SELECT 1) TO PROGRAM 'true'",
            "SET transaction_read_only = off",
            "COMMIT",
            "ROLLBACK; DELETE FROM orders",
            "SELECT 1; DELETE FROM orders",
            "SELECT 1) AS q(c1); DELETE FROM orders; --",
            "SELECT 1) AS q(c1) ; COMMIT; SELECT * FROM (SELECT 1",
            "DO $$ BEGIN DELETE FROM orders; END $$",
            "CALL nothing()",
            "EXPLAIN ANALYZE DELETE FROM orders",
            "nonsense",
        ])
        .await;
    let left = "SELECT count(*) FROM pg_largeobject_metadata";
    let left = connect(&lab.url).await.query_one(left, &[]).await.unwrap();
    assert_eq!(left.get::<_, i64>(0), 0);
    let count = connect(&lab.url).await.query_one("SELECT count(*) FROM orders", &[]).await.unwrap();
    assert_eq!(count.get::<_, i64>(0), 2);
}

#[tokio::test]
async fn errors_carry_the_databases_words_and_the_place() {
    let Some(lab) = Lab::new("errors", |database| database).await else { return };
    lab.shop.check("SELECT customr FROM orders", json!([]), expect!["no: column \"customr\" does not exist, at character 8 (Perhaps you meant to reference the column \"orders.customer\".)"]).await;
    lab.shop
        .check("SELECT $1::int", json!(["x"]), expect!["no: invalid input syntax for type integer: \"x\""])
        .await;
    lab.shop.check("SELECT 1 / 0", json!([]), expect!["no: division by zero"]).await;
    lab.shop
        .check("SELECT $1", json!([]), expect!["no: `sql` has 1 placeholders and `parameters` has 0 values"])
        .await;
}

#[tokio::test]
async fn a_query_without_an_end_is_stopped_and_no_more_rows_are_fetched_than_may_be_given() {
    let quick = |database: Database| database.with_timeout(Duration::from_millis(300)).with_rows_max(2);
    let Some(lab) = Lab::new("slow", quick).await else { return };
    let stopped = expect![
        "no: the query was stopped after 300 ms; ask for less: a narrower WHERE, fewer joins, no endless recursion"
    ];
    let slow = "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b";
    lab.shop.check(slow, json!([]), stopped).await;
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
    assert!(
        lab.shop.says(&format!("{endless} SELECT count(*) FROM n"), json!([])).await.contains("was stopped")
    );
    let long = lab
        .shop
        .says("SELECT i, repeat('x', 100000) AS x FROM generate_series(1, 1000000) AS i", json!([]))
        .await;
    assert!(
        long.ends_with("(the first 2 rows; there are more: let the database count, sum or limit)"),
        "{long}"
    );
}

#[tokio::test]
async fn a_query_that_nobody_waits_for_is_stopped_on_the_server() {
    let Some(lab) = Lab::new("dropped", |database| database.with_timeout(Duration::from_secs(50))).await
    else {
        return;
    };
    let client = connect(&lab.url).await;
    let running = async || {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'helve' AND state = 'active' \
                   AND datname = 'dropped'";
        client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0)
    };
    let asked = lab.shop.ask(json!({"sql": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"}));
    let seen = async {
        while running().await == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        answer = asked => panic!("{answer:?}"),
        () = seen => {}
    }
    while running().await > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_or_has_no_tls_is_the_operators_business() {
    let Some(lab) = Lab::new("tls", |database| database).await else { return };
    for url in ["postgres://u@127.0.0.1:1/x".to_owned(), format!("{}?sslmode=require", lab.url)] {
        _ = rustls::crypto::ring::default_provider().install_default();
        let shop = Shop::new(Database::new("shop", &SecretString::from(url)).unwrap());
        let error = shop.ask(json!({"sql": "SELECT 1"})).await.unwrap_err();
        assert!(matches!(error, ToolError::NotSent(_)), "{error:?}");
    }
}

#[tokio::test]
async fn every_hostile_statement_ends_as_written_and_the_tables_stay_as_they_are() {
    let patient = |database: Database| database.with_timeout(Duration::from_secs(60));
    let Some(lab) = Lab::new("hostile", patient).await else { return };
    let state = async || {
        let sql = "SELECT json_build_object('orders', (SELECT json_agg(o ORDER BY id) FROM orders o),
            'relations', (SELECT json_agg(relname ORDER BY oid) FROM pg_class WHERE relnamespace = 'public'::regnamespace),
            'sequence', (SELECT json_agg(json_build_array(last_value, is_called)) FROM numbers), 'large', (SELECT count(*) FROM pg_largeobject_metadata),
            'roles', (SELECT json_agg(rolname ORDER BY oid) FROM pg_roles))::text";
        connect(&lab.url).await.query_one(sql, &[]).await.unwrap().get::<_, String>(0)
    };
    let before = state().await;
    let quick = Database::new("shop", &SecretString::from(lab.url.clone())).unwrap();
    let quick = Shop::new(quick.with_timeout(Duration::from_millis(400)));
    hostile::ends_as_written(&lab.shop, &quick, "postgres.jsonl").await;
    assert_eq!(state().await, before);
}

/// By name, so that a version of PostgreSQL that adds one which does not begin so is noticed.
#[tokio::test]
async fn every_table_of_the_catalog_is_known_by_its_name() {
    let Some(lab) = Lab::new("catalog", |database| database).await else { return };
    let sql = "SELECT count(*) FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relname NOT LIKE 'pg\\_%'";
    assert_eq!(connect(&lab.url).await.query_one(sql, &[]).await.unwrap().get::<_, i64>(0), 0);
}

#[tokio::test]
async fn numbers_that_programs_would_round_come_as_text() {
    let Some(lab) = Lab::new("rounding", |database| database).await else { return };
    for (value, expected) in [
        ("9007199254740992", json!(9_007_199_254_740_992_i64)),
        ("9007199254740993", json!("9007199254740993")),
        ("-9007199254740992", json!(-9_007_199_254_740_992_i64)),
        ("-9007199254740993", json!("-9007199254740993")),
        ("'-9223372036854775808'::int8", json!("-9223372036854775808")),
        ("9223372036854775807", json!("9223372036854775807")),
        ("9223372036854775808", json!("9223372036854775808")),
        ("12.50", json!(12.5)),
        ("0.1::float8 + 0.2", json!(0.300_000_000_000_000_04)),
        ("1e300::float8", json!(1e300)),
        ("1.7976931348623157e308::float8", json!(f64::MAX)),
        ("0.1234567890123456789", json!("0.1234567890123456789")),
        ("'NaN'::numeric", json!("NaN")),
        ("'NaN'::float8", json!("NaN")),
        ("'Infinity'::float8", json!("Infinity")),
        ("'-Infinity'::float4", json!("-Infinity")),
        ("ARRAY[1, 9007199254740993]", json!([1, "9007199254740993"])),
        ("'{\"a\": [9007199254740993, 0.5]}'::jsonb", json!({"a": ["9007199254740993", 0.5]})),
        ("ROW(9007199254740993, 'x')", json!({"f1": "9007199254740993", "f2": "x"})),
        ("'9007199254740993'::text", json!("9007199254740993")),
    ] {
        let output = lab.shop.ask(json!({"sql": format!("SELECT {value} AS n")})).await.unwrap();
        assert_eq!(output.data.unwrap()["rows"][0]["n"], expected, "{value}");
    }
}

#[tokio::test]
async fn what_a_role_could_do_beyond_reading_is_told() {
    let Some(lab) = Lab::new("powers", |database| database).await else { return };
    let root = connect(&lab.url).await;
    root.batch_execute(
        "DROP ROLE IF EXISTS helve_reader; CREATE ROLE helve_reader LOGIN;
         CREATE FUNCTION dblink_exec(text) RETURNS text LANGUAGE sql AS 'SELECT $1';
         REVOKE EXECUTE ON FUNCTION dblink_exec(text) FROM public",
    )
    .await
    .unwrap();
    let of = async |url: &str| {
        let database = Database::new("shop", &SecretString::from(url.to_owned())).unwrap();
        describe_database(&database, &worker()).await.unwrap()
    };
    assert_eq!(of(&lab.url).await, ["its role is a superuser"]);
    let reader = lab.url.replace("postgres@", "helve_reader@");
    assert!(of(&reader).await.is_empty());
    root.batch_execute(
        "GRANT pg_read_server_files, pg_execute_server_program TO helve_reader;
         GRANT EXECUTE ON FUNCTION dblink_exec(text) TO helve_reader",
    )
    .await
    .unwrap();
    expect![[r#"
        its role has pg_read_server_files: it reads files of the database's server
        its role has pg_execute_server_program: it runs programs on the database's server
        its role may connect elsewhere with dblink_exec"#]]
    .assert_eq(&of(&reader).await.join("\n"));
    root.batch_execute("DROP OWNED BY helve_reader; DROP ROLE helve_reader").await.unwrap();
}
