//! Real databases: a SQLite file for each test, asked in a process as the binary does, and the PostgreSQL that
//! `make test` starts.

mod hostile;
mod postgres;
mod processes;
mod sqlite;

use std::sync::Arc;
use std::time::Duration;

use expect_test::Expect;
use helve_egress::{Egress, EgressSettings};
use helve_tool::{CallContext, Request, Tool, ToolError};
use helve_tool_builtin::{Database, QueryWorker, Settings, builtin_tools, describe_database};
use helve_types::ToolOutput;
use secrecy::SecretString;
use serde_json::{Value, json};

/// The tool, if there is one.
fn tool(databases: &[Database], worker: QueryWorker) -> Option<Arc<dyn Tool>> {
    // The provider may have been installed by another test.
    _ = rustls::crypto::ring::default_provider().install_default();
    let egress = Egress::new(EgressSettings::default()).unwrap();
    let settings = Settings {
        databases: databases.to_vec(),
        query_worker: worker,
        ..Settings::new(egress, "/nonexistent/notes")
    };
    let mut tools = builtin_tools(&settings).into_iter().map(|(tool, _)| tool);
    tools.find(|tool| tool.spec().name == "query_database")
}

/// What `helve query-worker` is to the binary.
fn worker() -> QueryWorker {
    QueryWorker::new(env!("CARGO_BIN_EXE_helve-query-worker"), [""; 0])
}

/// A tool for one database called `shop`.
struct Shop {
    tool: Arc<dyn Tool>,
}

impl Shop {
    fn new(database: Database) -> Self {
        Self::with_worker(database, worker())
    }

    fn with_worker(database: Database, worker: QueryWorker) -> Self {
        Self { tool: tool(&[database], worker).unwrap() }
    }

    async fn ask(&self, arguments: Value) -> Result<ToolOutput, ToolError> {
        self.tool
            .call(Request { arguments: &arguments }, &CallContext::for_tests("mei"))
            .await
            .map_err(ToolError::without_notice)
    }

    /// What the model reads.
    async fn says(&self, sql: &str, parameters: Value) -> String {
        match self.ask(json!({"sql": sql, "parameters": parameters})).await {
            Ok(output) => output.text,
            Err(ToolError::Declined(message)) => format!("no: {message}"),
            Err(other) => panic!("{sql}: {other:?}"),
        }
    }

    async fn check(&self, sql: &str, parameters: Value, expect: Expect) {
        expect.assert_eq(&self.says(sql, parameters).await);
    }

    /// Nothing but a refusal comes of any of these.
    async fn refuses(&self, statements: &[&str]) {
        for sql in statements {
            let said = self.says(sql, json!([])).await;
            assert!(said.starts_with("no: "), "{sql}: {said}");
        }
    }
}

#[test]
fn the_person_who_decides_sees_the_statement_as_it_is_sent() {
    let shop = Shop::new(Database::new("shop", &SecretString::from("sqlite:/nowhere/shop.db")).unwrap());
    let shown = |arguments: Value| {
        shop.tool.preview(Request { arguments: &arguments }, &CallContext::for_tests("mei"))
    };
    let sql = "SELECT *\nFROM t WHERE a = ?1; ";
    assert_eq!(
        shown(json!({"sql": sql, "parameters": ["x"]})).unwrap(),
        "shop, SQLite\n\nSELECT *\nFROM t WHERE a = ?1\n\nparameters: [\"x\"]"
    );
    assert_eq!(shown(json!({"describe": true})).unwrap(), "shop, SQLite: its tables and their columns");
    assert_eq!(shown(json!({"database": "other", "sql": sql})), None);
}

#[test]
fn an_address_that_is_none_is_refused_without_being_repeated() {
    for (name, url) in [
        ("shop", "mysql://root:hunter2@host/db"),
        ("shop", "sqlite:"),
        ("shop", "sqlite::memory:"),
        ("shop", "postgres://u:hunter2@host:port/db"),
        ("a shop", "sqlite:x"),
        ("", "sqlite:x"),
    ] {
        let error = Database::new(name, &SecretString::from(url)).unwrap_err();
        assert!(!error.contains("hunter2"), "{error}");
    }
    let secret = SecretString::from("postgres://u:hunter2@host/db");
    let database = Database::new("shop", &secret).unwrap();
    assert!(!format!("{database:?}").contains("hunter2"));
    assert!(database.with_tables(vec!["a".into()]).is_err());
}

#[test]
fn models_are_told_which_databases_there_are() {
    assert!(tool(&[], worker()).is_none());
    let one = Database::new("shop", &SecretString::from("sqlite:a.db"))
        .unwrap()
        .with_description("orders\nof the shop");
    let two = Database::new("crm", &SecretString::from("postgres://h/db")).unwrap();
    let tool = tool(&[one, two], worker()).unwrap();
    let spec = tool.spec();
    assert!(
        spec.description.ends_with("The databases:\n- shop (SQLite): orders of the shop\n- crm (PostgreSQL)")
    );
    assert_eq!(spec.parameters["properties"]["database"]["enum"], json!(["shop", "crm"]));
}
