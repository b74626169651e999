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
    assert_eq!(data["rows"][2]["id"], json!(9_007_199_254_740_993_i64));
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

#[test]
fn the_bundled_sqlite_has_no_extension_that_nothing_here_needs() {
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    let mut options = connection.prepare("PRAGMA compile_options").unwrap();
    let options: Vec<String> =
        options.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    for extension in ["FTS3", "FTS4", "FTS5", "RTREE", "DBSTAT_VTAB", "LOAD_EXTENSION", "SOUNDEX"] {
        let built = options.iter().find(|option| option.contains(extension) && !option.starts_with("OMIT_"));
        assert_eq!(built, None, "LIBSQLITE3_FLAGS of .cargo/config.toml is not in effect");
    }
    for sql in ["SELECT fts3_tokenizer('simple')", "SELECT rtreecheck('t')", "SELECT load_extension('x')"] {
        let error = connection.prepare(sql).unwrap_err();
        assert!(error.to_string().contains("no such function"), "{sql}: {error}");
    }
}
