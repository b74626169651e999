//! SQLite: what is read, and everything that is not let through.

use expect_test::expect;
use tempfile::TempDir;

use super::*;

struct Lab {
    dir: TempDir,
    shop: Shop,
}

impl Lab {
    fn new(change: impl FnOnce(Database) -> Database) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("shop.db");
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection
            .execute_batch(
                "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, total REAL, note BLOB);
                 INSERT INTO orders VALUES (1, '王芳', 12.5, x'6869'), (2, 'Bob', NULL, NULL), (9007199254740993, 'a
b', 1e300, x'00');
                 CREATE TABLE secrets (word TEXT);
                 INSERT INTO secrets VALUES ('hunter2');
                 CREATE VIEW words AS SELECT word FROM secrets;
                 CREATE TRIGGER tripped AFTER INSERT ON orders BEGIN DELETE FROM secrets; END;",
            )
            .unwrap();
        let url = SecretString::from(format!("sqlite:{}", path.display()));
        Self { shop: Shop::new(change(Database::new("shop", &url).unwrap())), dir }
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.dir.path().join("shop.db")).unwrap()
    }
}

#[tokio::test]
async fn rows_come_back_as_text_and_as_values_with_their_types() {
    let lab = Lab::new(|database| database);
    let output =
        lab.shop.ask(json!({"database": "shop", "sql": "SELECT * FROM orders ORDER BY id;"})).await.unwrap();
    expect![[r#"
        id | customer | total | note
        ---
        1 | 王芳 | 12.5 | \x6869
        2 | Bob | NULL | NULL
        9007199254740993 | a\nb | 1e+300 | \x00
        (3 rows)"#]]
    .assert_eq(&output.text);
    let data = output.data.unwrap();
    assert_eq!(data["rows"][0], json!({"id": 1, "customer": "王芳", "total": 12.5, "note": "\\x6869"}));
    // As text: programs whose numbers are JavaScript's would read …992.
    assert_eq!(data["rows"][2]["id"], "9007199254740993");
    assert_eq!(data["columns"], json!(["id", "customer", "total", "note"]));
    lab.shop
        .check(
            "SELECT id, id, ?2 AS b FROM orders WHERE customer = ?1",
            json!(["王芳", true]),
            expect![[r#"
                id | id_2 | b
                ---
                1 | 1 | 1
                (1 row)"#]],
        )
        .await;
}

#[tokio::test]
async fn the_tables_are_described() {
    let lab = Lab::new(|database| database);
    let described = lab.shop.ask(json!({"describe": true})).await.unwrap();
    expect![[r#"
        shop is a SQLite database; placeholders are ?1, ?2.
        orders(id INTEGER primary key, customer TEXT not null, total REAL, note BLOB)
        secrets(word TEXT)
        view words(word TEXT)"#]]
    .assert_eq(&described.text);
}

#[tokio::test]
async fn nothing_can_be_written_whatever_is_tried() {
    let lab = Lab::new(|database| database);
    let before = lab.bytes();
    lab.shop
        .refuses(&[
            "INSERT INTO orders (customer) VALUES ('x')",
            "INSERT INTO orders (customer) VALUES ('x') RETURNING id",
            "UPDATE orders SET total = 0",
            "DELETE FROM orders",
            "WITH gone AS (SELECT 1) DELETE FROM orders RETURNING *",
            "REPLACE INTO orders VALUES (1, 'x', 0, NULL)",
            "DROP TABLE orders",
            "CREATE TABLE x (a)",
            "CREATE TEMP TABLE x AS SELECT * FROM orders",
            "ALTER TABLE orders ADD COLUMN x",
            "ATTACH '/tmp/other.db' AS other",
            "ATTACH ':memory:' AS other",
            "VACUUM INTO '/tmp/copy.db'",
            "VACUUM",
            "REINDEX",
            "ANALYZE",
            "PRAGMA writable_schema = ON",
            "PRAGMA query_only = OFF",
            "PRAGMA journal_mode = DELETE",
            "PRAGMA user_version",
            "SELECT * FROM pragma_database_list",
            "BEGIN IMMEDIATE",
            "SAVEPOINT a",
            "SELECT load_extension('x')",
            "SELECT 1; DELETE FROM orders",
            "SELECT 1; SELECT 2",
            "EXPLAIN DELETE FROM orders",
            "",
            ";",
            "-- nothing",
            "nonsense",
        ])
        .await;
    assert_eq!(lab.bytes(), before);
}

#[tokio::test]
async fn errors_carry_the_databases_words_and_the_place() {
    let lab = Lab::new(|database| database);
    lab.shop.check("SELECT nme FROM orders", json!([]), expect!["no: no such column: nme, at byte 7"]).await;
    lab.shop
        .check(
            "SELECT ?1, ?2",
            json!([1]),
            expect!["no: `sql` has 2 placeholders and `parameters` has 1 values"],
        )
        .await;
    lab.shop.check("SELECT 1; SELECT 2", json!([]), expect!["no: write one statement only"]).await;
    lab.shop
        .check(
            "DELETE FROM orders",
            json!([]),
            expect!["no: the database is read only and this is not allowed: not authorized"],
        )
        .await;
}

#[tokio::test]
async fn a_query_without_an_end_is_stopped_at_the_time_limit() {
    let lab = Lab::new(|database| database.with_timeout(Duration::from_millis(50)));
    let bomb = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    lab.shop.check(bomb, json!([]), expect!["no: the query was stopped after 50 ms; ask for less: a narrower WHERE, fewer joins, no endless recursion"]).await;
    lab.shop
        .refuses(&[
            "SELECT length(zeroblob(1000000000))",
            "SELECT replace(hex(zeroblob(2000000)), '0', hex(zeroblob(1000)))",
        ])
        .await;
}

#[tokio::test]
async fn no_more_rows_are_read_than_may_be_given() {
    let lab = Lab::new(|database| database.with_rows_max(2));
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    lab.shop
        .check(
            endless,
            json!([]),
            expect![[r#"
                i
                ---
                1
                2
                (the first 2 rows; there are more: let the database count, sum or limit)"#]],
        )
        .await;
    let lab = Lab::new(|database| database.with_rows_max(10_000));
    let wide =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT hex(zeroblob(5000)) FROM n";
    let output = lab.shop.ask(json!({"sql": wide})).await.unwrap();
    let data = output.data.unwrap();
    assert_eq!(data["has_more"], true);
    assert!(
        data.to_string().len() < 400_000
            && data["rows"][0]["hex(zeroblob(5000))"].as_str().unwrap().ends_with("… (cut; 10000 bytes)")
    );
}

#[tokio::test]
async fn only_listed_tables_are_read_but_a_listed_view_may_read_others() {
    let lab = Lab::new(|database| database.with_tables(vec!["orders".into(), "words".into()]).unwrap());
    lab.shop
        .refuses(&[
            "SELECT * FROM secrets",
            "SELECT * FROM sqlite_schema",
            "SELECT (SELECT word FROM secrets)",
        ])
        .await;
    assert!(lab.shop.says("SELECT * FROM words", json!([])).await.contains("hunter2"));
    assert!(lab.shop.says("SELECT count(*) FROM orders", json!([])).await.contains('3'));
    let described = lab.shop.ask(json!({"describe": true})).await.unwrap().text;
    assert!(described.contains("orders(") && !described.contains("secrets("), "{described}");
}

#[tokio::test]
async fn no_name_of_the_querys_own_opens_a_table_that_is_not_listed() {
    let lab = Lab::new(|database| database.with_tables(vec!["orders".into(), "Words".into()]).unwrap());
    lab.shop
        .refuses(&[
            "WITH orders AS (SELECT word FROM secrets) SELECT * FROM orders",
            "WITH orders(x) AS (SELECT sql FROM sqlite_schema) SELECT x FROM orders",
            "WITH words AS (SELECT word || '' FROM secrets) SELECT * FROM words",
            "WITH \"WORDS\" AS MATERIALIZED (SELECT * FROM main.secrets) SELECT * FROM [words]",
            "WITH RECURSIVE words(x) AS (SELECT word FROM secrets UNION SELECT x FROM words) SELECT * FROM words",
            "SELECT * FROM (WITH orders AS (SELECT word FROM secrets) SELECT * FROM orders) AS orders",
            "SELECT * FROM (SELECT word FROM secrets) AS orders",
            "SELECT orders.word FROM secrets AS orders",
            "SELECT * FROM orders WHERE customer IN (WITH words AS (SELECT 1 FROM secrets) SELECT * FROM words)",
            "SELECT * FROM orders WHERE EXISTS (SELECT 1 FROM secrets AS words WHERE word LIKE 'h%')",
            "SELECT count(*) FROM secrets",
            "SELECT count(*) FROM sqlite_master",
            "SELECT name FROM pragma_table_info('secrets')",
            "SELECT count(*) FROM pragma_table_info('secrets')",
            "WITH orders AS (SELECT name FROM pragma_table_list) SELECT * FROM orders",
            "SELECT * FROM temp.sqlite_schema",
            "SELECT 1 UNION ALL SELECT word FROM secrets",
        ])
        .await;
    for (sql, found) in [
        ("WITH mine AS (SELECT customer FROM orders) SELECT count(*) FROM mine", "3"),
        ("WITH words AS (SELECT 'mine' AS word) SELECT word FROM words", "mine"),
        ("SELECT o.customer FROM (SELECT * FROM main.orders) AS o WHERE o.id = 2", "Bob"),
        ("WITH mine AS (SELECT word FROM words) SELECT w.word FROM mine AS w", "hunter2"),
    ] {
        let said = lab.shop.says(sql, json!([])).await;
        assert!(said.contains(found), "{sql}: {said}");
    }
}

#[tokio::test]
async fn a_file_that_is_no_database_is_the_operators_business() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.db");
    for text in [None, Some("this is no database, only a long enough text to look like one".repeat(20))] {
        if let Some(text) = text {
            std::fs::write(&path, text).unwrap();
        }
        let url = SecretString::from(format!("sqlite:{}", path.display()));
        let shop = Shop::new(Database::new("shop", &url).unwrap());
        let error = shop.ask(json!({"sql": "SELECT 1"})).await.unwrap_err();
        assert!(matches!(error, ToolError::NotSent(_)), "{error:?}");
    }
}

/// A file that its author made to do harm to whoever reads it.
const HOSTILE: &str = "
    CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, total REAL, note BLOB);
    INSERT INTO orders VALUES (1, '王芳', 12.5, x'6869'), (2, 'Bob', NULL, NULL), (3, 'Eve', 1e300, x'00');
    CREATE VIEW words AS SELECT customer AS word FROM orders;
    CREATE TRIGGER tripped AFTER INSERT ON orders BEGIN DELETE FROM orders; END;
    CREATE TABLE numbers (n INTEGER);
    INSERT INTO numbers WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 1000) SELECT i FROM c;
    CREATE VIEW spies AS SELECT name FROM pragma_table_list;
    CREATE VIEW loader AS SELECT load_extension('x') AS y;
    CREATE VIEW bomb AS WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT i FROM c;
    CREATE VIEW nowhere AS SELECT * FROM gone;
    CREATE TABLE generated (a, b AS (subtype(a)));
    INSERT INTO generated VALUES (1);
    CREATE TABLE indexed (a);
    INSERT INTO indexed VALUES (1);
    CREATE INDEX by_subtype ON indexed (subtype(a));
    CREATE VIEW deep_view AS SELECT * FROM deep_view_2;
    CREATE VIEW deep_view_2 AS SELECT last_insert_rowid() AS y FROM orders;
    PRAGMA writable_schema = ON;
    INSERT INTO sqlite_schema VALUES
        ('table', 'virtual_fts', 'virtual_fts', 0, 'CREATE VIRTUAL TABLE virtual_fts USING fts5(x)'),
        ('table', 'virtual_pragma', 'virtual_pragma', 0, 'CREATE VIRTUAL TABLE virtual_pragma USING pragma_table_list'),
        ('view', 'view_of_virtual', 'view_of_virtual', 0, 'CREATE VIEW view_of_virtual AS SELECT * FROM virtual_fts'),
        ('view', 'circular', 'circular', 0, 'CREATE VIEW circular AS SELECT * FROM circular');";

fn hostile(change: impl FnOnce(Database) -> Database) -> Lab {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shop.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch(HOSTILE).unwrap();
    Lab { shop: Shop::new(change(database(&path))), dir }
}

fn database(path: &std::path::Path) -> Database {
    let url = SecretString::from(format!("sqlite:{}", path.display()));
    Database::new("shop", &url).unwrap()
}

#[tokio::test]
async fn every_hostile_statement_ends_as_written_and_the_file_stays_as_it_is() {
    let lab = hostile(|database| database.with_timeout(Duration::from_secs(60)));
    let path = lab.dir.path().join("shop.db");
    let quick = Shop::new(database(&path).with_timeout(Duration::from_millis(400)));
    let before = lab.bytes();
    hostile::ends_as_written(&lab.shop, &quick, "sqlite.jsonl").await;
    assert_eq!(lab.bytes(), before);
    let files: Vec<_> =
        std::fs::read_dir(lab.dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files, ["shop.db"], "nothing was put beside it");
    assert!(lab.shop.says("SELECT count(*) FROM orders", json!([])).await.contains('3'));
}

#[tokio::test]
async fn tables_with_names_of_any_length_are_described_within_bounds() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shop.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    for table in 0..60 {
        let (name, column) = ("n".repeat(20_000), "c".repeat(20_000));
        connection.execute_batch(&format!("CREATE TABLE t{table}{name} (\"{column}\" INTEGER)")).unwrap();
    }
    let shop = Shop::new(database(&path));
    let output = shop.ask(json!({"describe": true})).await.unwrap();
    assert!(output.text.len() < 300 << 10 && output.text.contains("t0nnn"), "{}", output.text.len());
    let sql = format!("SELECT \"{0}\" FROM t0{1}", "c".repeat(1_000), "n".repeat(10));
    assert!(shop.says(&sql, json!([])).await.starts_with("no: no such table"));
}

#[tokio::test]
async fn with_a_list_of_tables_hostile_names_of_the_file_are_no_way_around_it() {
    let listed =
        ["orders", "spies", "virtual_fts", "virtual_pragma", "view_of_virtual", "generated", "sqlite_schema"];
    let listed: Vec<String> = listed.map(str::to_owned).into();
    let lab = hostile(|database| database.with_tables(listed).unwrap());
    lab.shop
        .refuses(&[
            "SELECT * FROM numbers",
            "SELECT * FROM spies",
            "SELECT * FROM virtual_fts",
            "SELECT count(*) FROM virtual_pragma",
            "SELECT * FROM view_of_virtual",
            "SELECT b FROM generated",
            "SELECT hex(fts3_tokenizer(?1,?2)), rtreecheck('fts3tokenize')",
            "SELECT load_extension('x') FROM orders",
            "SELECT * FROM dbstat",
        ])
        .await;
    assert!(lab.shop.says("SELECT count(*) FROM orders, json_each('[1]')", json!([])).await.contains('3'));
    let described = lab.shop.ask(json!({"describe": true})).await.unwrap().text;
    assert!(described.contains("orders(") && !described.contains("virtual_"), "{described}");
}

/// Numbers that look like chance and are the same in every run.
fn scrambled(seed: u64) -> u64 {
    let mixed = (seed.wrapping_add(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb) ^ (mixed >> 32)
}

#[tokio::test]
async fn a_damaged_file_is_told_or_read_and_never_changed() {
    let whole = hostile(|database| database).bytes();
    for seed in 0..60_u64 {
        let mut damaged = whole.clone();
        if seed % 10 == 9 {
            damaged.truncate(usize::try_from(scrambled(seed)).unwrap_or(0) % whole.len());
        }
        for byte in 0..20 {
            let chance = usize::try_from(scrambled(seed * 100 + byte) >> 8).unwrap();
            if let Some(at) = damaged.len().checked_sub(1) {
                // The head of the file says that it is a database; what follows is what breaks its readers.
                let at = if seed % 2 == 0 { 100 + chance % 1_000 } else { chance % whole.len() }.min(at);
                damaged[at] = u8::try_from(chance % 251).unwrap();
            }
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("shop.db");
        std::fs::write(&path, &damaged).unwrap();
        let url = SecretString::from(format!("sqlite:{}", path.display()));
        let shop = Shop::new(Database::new("shop", &url).unwrap().with_timeout(Duration::from_millis(300)));
        for arguments in [
            json!({"describe": true}),
            json!({"sql": "SELECT * FROM orders o, numbers n, indexed i ORDER BY o.customer, n.n DESC"}),
            json!({"sql": "SELECT * FROM sqlite_schema"}),
        ] {
            match shop.ask(arguments).await {
                Ok(_) | Err(ToolError::NotSent(_)) => {}
                Err(ToolError::Declined(told)) => assert!(!told.contains("was lost"), "{seed}: {told}"),
                Err(other) => panic!("{seed}: {other:?}"),
            }
        }
        assert_eq!(std::fs::read(&path).unwrap(), damaged, "{seed}");
    }
}

#[tokio::test]
async fn a_database_in_wal_mode_is_read_while_it_is_written_and_after() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shop.db");
    let writer = rusqlite::Connection::open(&path).unwrap();
    let set = "PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES ('first')";
    writer.execute_batch(set).unwrap();
    let url = SecretString::from(format!("sqlite:{}", path.display()));
    let shop = Shop::new(Database::new("shop", &url).unwrap());
    // What is only in the WAL is read too, and a transaction that is not over is not in the way.
    writer.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES ('second')").unwrap();
    let all = "SELECT group_concat(a) AS all_of_them FROM t";
    assert!(shop.says(all, json!([])).await.contains("\nfirst\n"));
    writer.execute_batch("COMMIT").unwrap();
    assert!(shop.says(all, json!([])).await.contains("first,second"));
    drop(writer);
    let before = std::fs::read(&path).unwrap();
    assert!(shop.says(all, json!([])).await.contains("first,second"));
    assert_eq!(std::fs::read(&path).unwrap(), before);
    // A writer that was killed leaves its WAL behind, and no index of it.
    let writer = rusqlite::Connection::open(&path).unwrap();
    writer.execute_batch("INSERT INTO t VALUES ('third')").unwrap();
    let left = tempfile::tempdir().unwrap();
    for file in ["shop.db", "shop.db-wal"] {
        std::fs::copy(dir.path().join(file), left.path().join(file)).unwrap();
    }
    let url = SecretString::from(format!("sqlite:{}", left.path().join("shop.db").display()));
    let shop = Shop::new(Database::new("shop", &url).unwrap());
    assert!(shop.says(all, json!([])).await.contains("first,second,third"));
}

#[tokio::test]
async fn numbers_that_programs_would_round_come_as_text() {
    let lab = Lab::new(|database| database);
    for (value, expected) in [
        ("9007199254740992", json!(9_007_199_254_740_992_i64)),
        ("9007199254740993", json!("9007199254740993")),
        ("-9007199254740992", json!(-9_007_199_254_740_992_i64)),
        ("-9007199254740993", json!("-9007199254740993")),
        ("9223372036854775807", json!("9223372036854775807")),
        ("-9223372036854775808", json!("-9223372036854775808")),
        ("9e999", json!("Infinity")),
        ("-9e999", json!("-Infinity")),
        ("9e999 - 9e999", Value::Null),
        ("0.1", json!(0.1)),
        ("sum(1) OVER ()", json!(1)),
    ] {
        let output = lab.shop.ask(json!({"sql": format!("SELECT {value} AS n")})).await.unwrap();
        assert_eq!(output.data.unwrap()["rows"][0]["n"], expected, "{value}");
    }
}

/// What the kernel says of a worker of this process that asks, when one is found.
fn limits_of_a_worker() -> Option<String> {
    let entries = std::fs::read_dir("/proc").unwrap();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).find_map(|id| {
        let of = |file: &str| std::fs::read_to_string(format!("/proc/{id}/{file}")).ok();
        let parent = format!("PPid:\t{}", std::process::id());
        let is_worker = of("cmdline")?.contains("helve-query-worker");
        let is_ours = of("status")?.lines().any(|line| line == parent);
        let limits = of("limits").filter(|_| is_worker && is_ours)?;
        // Before it has opened the file it may have a few.
        let row = |name: &str| limits.lines().find(|line| line.starts_with(name)).map(str::to_owned);
        row("Max open files")?.contains(" 0 ").then_some(limits)
    })
}

#[tokio::test]
async fn the_kernel_lets_a_query_open_and_write_nothing_and_have_no_more_memory() {
    let lab = Lab::new(|database| database.with_timeout(Duration::from_secs(120)));
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let found = async {
        loop {
            match limits_of_a_worker() {
                Some(limits) => break limits,
                None => tokio::task::yield_now().await,
            }
        }
    };
    let limits = tokio::select! {
        answer = lab.shop.ask(json!({"sql": endless})) => panic!("{answer:?}"),
        limits = found => limits,
    };
    let soft = |name: &str| {
        let row = limits.lines().find(|line| line.starts_with(name)).unwrap();
        row[name.len()..].split_whitespace().next().unwrap().to_owned()
    };
    for name in ["Max file size", "Max core file size", "Max processes", "Max open files"] {
        assert_eq!(soft(name), "0", "{limits}");
    }
    let memory: u64 = soft("Max address space").parse().unwrap();
    assert!(memory < 2 << 30, "{limits}");
    assert_ne!(soft("Max cpu time"), "unlimited", "{limits}");
}
