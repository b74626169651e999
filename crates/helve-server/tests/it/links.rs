//! Signed links, over real HTTP: what they show, what they do, and what they do not let anybody do.

use std::sync::Arc;

use helve_server::ApprovalLinks;
use helve_store::{ApprovalFilter, Page, Scope, Views};
use helve_types::Seal;
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::test_server::{ChangeParts, LostTool, ServerOptions, TestServer, reply};

const HOURS: u32 = 24;
const HOUR_MS: i64 = 60 * 60 * 1_000;

/// T40: what a model would write to be misread.
fn misleading() -> String {
    "\n".repeat(300)
        + "\u{202e}txt.exe\u{2066} <img src=x onerror=alert(1)></pre><form action='//evil.test'> \u{200b}\"&"
}

struct Door {
    server: TestServer,
    links: ApprovalLinks,
    client: Client,
}

fn links(url: &str) -> ApprovalLinks {
    ApprovalLinks::new(Seal::new([3; 32]), url, HOURS)
}

fn with_links() -> Option<ChangeParts> {
    Some(Box::new(|parts, url| parts.links = Some(links(url))))
}

impl Door {
    /// A server where one question waits for each of these.
    async fn new(arguments: &[&str]) -> Self {
        Self::with(ServerOptions::default(), arguments).await
    }

    async fn with(plan: ServerOptions, arguments: &[&str]) -> Self {
        let calls: Vec<_> =
            arguments.iter().map(|text| format!("call send {}", json!({"q": text}))).collect();
        let token = plan.token;
        let plan = ServerOptions { change_parts: with_links(), ..plan };
        let server = TestServer::with_options(plan, [reply(&calls.join(" | ")), reply("say Done.")]).await;
        let links = links(&server.url);
        let client = Client::builder().no_proxy().redirect(Policy::none()).build().unwrap();
        let mut start = server.request(Method::POST, "/api/runs").json(&json!({"message": "send"}));
        if let Some(token) = token {
            start = start.bearer_auth(token);
        }
        assert_eq!(start.send().await.unwrap().status(), StatusCode::CREATED);
        let door = Self { server, links, client };
        while door.open().await < arguments.len() {
            tokio::task::yield_now().await;
        }
        door
    }

    async fn questions(&self) -> Vec<helve_store::Approval> {
        let filter = ApprovalFilter::Pending(Page::first(9));
        self.server.store.approvals(Scope::Everyone, filter).await.unwrap()
    }

    async fn open(&self) -> usize {
        self.questions().await.len()
    }

    async fn link(&self) -> String {
        self.links.signed_link(&self.questions().await[0], self.server.world.now())
    }

    async fn get(&self, link: &str) -> Response {
        self.client.get(link).send().await.unwrap()
    }

    /// What a browser sends when somebody presses a button on the page.
    async fn press(&self, link: &str, form: &str) -> Response {
        self.form(link, form).header("origin", &self.server.url).send().await.unwrap()
    }

    fn form(&self, link: &str, form: &str) -> reqwest::RequestBuilder {
        let request = self.client.post(link).body(form.to_owned());
        request.header("content-type", "application/x-www-form-urlencoded")
    }
}

async fn text(response: Response) -> (StatusCode, String) {
    (response.status(), response.text().await.unwrap())
}

#[tokio::test]
async fn a_link_shows_its_question_and_looking_at_it_changes_nothing() {
    let door = Door::new(&["x"]).await;
    let link = door.link().await;
    for method in [Method::GET, Method::GET, Method::HEAD] {
        let seen = door.client.request(method, &link).send().await.unwrap();
        assert_eq!(seen.status(), StatusCode::OK);
        let header = |name: &str| seen.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("cache-control"), "no-store");
        assert_eq!(header("content-type"), "text/html; charset=utf-8");
        assert!(header("x-robots-tag").contains("noindex"));
        assert_eq!(header("referrer-policy"), "same-origin");
        let policy = header("content-security-policy");
        assert!(
            policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        assert!(!policy.contains("script-src") && !policy.contains("unsafe"), "{policy}");
    }
    let (_, page) = text(door.get(&link).await).await;
    assert!(page.contains("May this call run?") && page.contains("{&quot;q&quot;:&quot;x&quot;}"), "{page}");
    assert!(!page.contains("<script"), "{page}");
    assert_eq!(door.open().await, 1);
    let chinese = door.client.get(&link).header("accept-language", "fr, zh-CN;q=0.9").send().await.unwrap();
    let chinese = chinese.text().await.unwrap();
    for text in ["允许这次调用吗？", "会改变数据，而且无法撤回。", "允许这一次", "lang=\"zh-CN\""]
    {
        assert!(chinese.contains(text), "{text} is not in {chinese}");
    }
}

#[tokio::test]
async fn a_button_answers_for_nobody_but_the_link_and_once() {
    let door = Door::new(&["x"]).await;
    let (link, id) = (door.link().await, door.questions().await[0].id());
    let pressed = door.press(&link, "decision=approve&reason=").await;
    assert_eq!(pressed.status(), StatusCode::SEE_OTHER);
    let place = pressed.headers()["location"].to_str().unwrap().to_owned();
    assert!(link.ends_with(&place), "{place}");
    let held = door.server.get_json(&format!("/api/approvals/{id}")).await;
    assert_eq!((&held["state"], &held["by"]), (&json!("answered"), &json!("link:local")));
    let (status, page) = text(door.get(&link).await).await;
    assert_eq!(status, StatusCode::OK);
    assert!(page.contains("allowed") && page.contains("link:local") && !page.contains("<form"), "{page}");

    assert_eq!(door.press(&link, "decision=approve").await.status(), StatusCode::SEE_OTHER, "the same again");
    let (status, page) = text(door.press(&link, "decision=reject").await).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(page.contains("link:local") && page.contains("allowed"), "{page}");
}

#[tokio::test]
async fn a_no_comes_with_its_reason() {
    let door = Door::new(&["x"]).await;
    let (link, id) = (door.link().await, door.questions().await[0].id());
    let pressed = door.press(&link, "decision=reject&reason=not+today%3B+%3Cb%3E%E4%B8%8D%3C%2Fb%3E").await;
    assert_eq!(pressed.status(), StatusCode::SEE_OTHER);
    let held = door.server.get_json(&format!("/api/approvals/{id}")).await;
    assert_eq!(held["answer"], json!({"decision": "reject", "reason": "not today; <b>不</b>"}));
    let (_, page) = text(door.get(&link).await).await;
    assert!(page.contains("not today; &lt;b&gt;不&lt;/b&gt;"), "{page}");
}

#[tokio::test]
async fn a_mark_is_good_for_its_own_question_end_and_key_only() {
    let door = Door::new(&["x", "y"]).await;
    let questions = door.questions().await;
    let now = door.server.world.now();
    let links = [0, 1].map(|at| door.links.signed_link(&questions[at], now));
    let ids = [0, 1].map(|at| questions[at].id().to_string());
    let until = (now.0 + i64::from(HOURS) * HOUR_MS).to_string();
    assert!(links[0].contains(&until));
    let other_key = ApprovalLinks::new(Seal::new([4; 32]), &door.server.url, HOURS);
    let nothing = "0190163d-8694-739b-aea5-966c26f8ad91";
    let forged = [
        links[0].replace(&ids[0], &ids[1]),
        links[0].replace(&ids[0], nothing),
        links[0].replace(&ids[0], "none"),
        links[0].replace(&until, &(now.0 + 1_000 * HOUR_MS).to_string()),
        links[0].replace(&until, "soon"),
        links[0][..links[0].len() - 1].to_owned(),
        links[0].split('?').next().unwrap().to_owned(),
        format!("{}?until={until}&mark={}", links[0].split('?').next().unwrap(), "0".repeat(64)),
        other_key.signed_link(&questions[0], now),
    ];
    let (_, told) = text(door.get(&forged[0]).await).await;
    for link in &forged {
        for posted in [false, true] {
            let response =
                if posted { door.press(link, "decision=approve").await } else { door.get(link).await };
            let (status, page) = text(response).await;
            assert_eq!(status, StatusCode::NOT_FOUND, "{link}");
            // Whether there is such a question shows nowhere.
            assert_eq!(without_nonce(&page), without_nonce(&told), "{link}");
        }
    }
    assert_eq!(door.open().await, 2);
    door.press(&links[1], "decision=approve").await;
    assert_eq!(door.open().await, 1, "the right one works, and answers its own question only");
}

fn without_nonce(page: &str) -> String {
    let (before, rest) = page.split_once("nonce=\"").unwrap();
    format!("{before}{}", rest.split_once('"').unwrap().1)
}

#[tokio::test]
async fn a_link_ends_with_its_hours() {
    let door = Door::new(&["x"]).await;
    let link = door.link().await;
    door.server.world.clock.advance_ms(i64::from(HOURS) * HOUR_MS - 1);
    assert_eq!(door.get(&link).await.status(), StatusCode::OK);
    door.server.world.clock.advance_ms(1);
    for response in [door.get(&link).await, door.press(&link, "decision=approve").await] {
        let (status, page) = text(response).await;
        assert_eq!(status, StatusCode::GONE);
        assert!(page.contains("This link has expired") && !page.contains("send"), "{page}");
    }
    assert_eq!(door.open().await, 1);
    // No link outlives its question.
    let questions = door.questions().await;
    let late = ApprovalLinks::new(Seal::new([3; 32]), "", 10_000)
        .signed_link(&questions[0], door.server.world.now());
    assert!(late.contains(&format!("until={}&", questions[0].question.expires_at.0)), "{late}");
}

#[tokio::test]
async fn only_the_form_of_our_own_page_acts() {
    let door = Door::new(&["x"]).await;
    let link = door.link().await;
    let form = || door.form(&link, "decision=approve");
    let refused = [
        (form(), 403),
        (form().header("origin", "http://evil.test"), 403),
        (form().header("origin", "null"), 403),
        (form().header("sec-fetch-site", "cross-site"), 403),
        (form().header("sec-fetch-site", "none"), 403),
        (form().header("origin", &door.server.url).header("host", "evil.test"), 421),
    ];
    for (request, status) in refused {
        assert_eq!(request.send().await.unwrap().status().as_u16(), status);
    }
    let origin = |request: reqwest::RequestBuilder| request.header("origin", &door.server.url);
    let bodies = [
        (origin(door.client.post(&link)).json(&json!({"decision": "approve"})), 415),
        (origin(door.form(&link, "")), 400),
        (origin(door.form(&link, "decision=maybe")), 400),
        (origin(door.form(&link, "decision=happened")), 400),
        (origin(door.form(&link, &format!("decision=reject&reason={}", "x".repeat(40_000)))), 413),
    ];
    for (request, status) in bodies {
        assert_eq!(request.send().await.unwrap().status().as_u16(), status);
    }
    assert_eq!(door.open().await, 1);
    // Older browsers say where a form comes from in only one of two ways.
    let told = form().header("sec-fetch-site", "same-origin").send().await.unwrap();
    assert_eq!(told.status(), StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_link_in_a_message_can_be_followed_and_framed_by_nobody() {
    let door = Door::new(&["x"]).await;
    let link = door.link().await;
    let from = |mode: &str, dest: &str| {
        let request = door.client.get(&link).header("sec-fetch-site", "cross-site");
        request.header("sec-fetch-mode", mode).header("sec-fetch-dest", dest).send()
    };
    assert_eq!(from("navigate", "document").await.unwrap().status(), StatusCode::OK);
    assert_eq!(from("navigate", "iframe").await.unwrap().status(), StatusCode::FORBIDDEN);
    assert_eq!(from("cors", "empty").await.unwrap().status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn the_link_is_enough_where_everything_else_wants_a_token_and_opens_nothing_else() {
    let plan = ServerOptions { token: Some("a-long-enough-token"), ..ServerOptions::default() };
    let door = Door::with(plan, &["x", "y"]).await;
    let (link, questions) = (door.link().await, door.questions().await);
    let api = format!("{}/api/approvals/{}", door.server.url, questions[0].id());
    assert_eq!(door.get(&api).await.status(), StatusCode::UNAUTHORIZED);
    let with_mark = link.replace("/approvals/", "/api/approvals/");
    assert_eq!(door.get(&with_mark).await.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(door.get(&link).await.status(), StatusCode::OK);
    assert_eq!(door.press(&link, "decision=approve").await.status(), StatusCode::SEE_OTHER);
    assert_eq!(door.open().await, 1);
}

#[tokio::test]
async fn a_link_also_says_what_became_of_a_call_that_was_cut_off() {
    let rule = serde_json::from_value(json!({"tool": "lose", "action": "allow"})).unwrap();
    let plan = ServerOptions {
        tools: vec![Arc::new(LostTool::checked_by("look"))],
        rules: vec![rule],
        change_parts: with_links(),
        ..ServerOptions::default()
    };
    let server =
        TestServer::with_options(plan, [reply(r#"call lose {"q": "x"}"#), reply("say I see.")]).await;
    let links = links(&server.url);
    let (run, _) = server.start("lose x").await;
    assert_eq!(server.settled(&run).await, "needs_attention");
    let client = Client::builder().no_proxy().redirect(Policy::none()).build().unwrap();
    let door = Door { server, links, client };
    let link = door.link().await;
    let (_, page) = text(door.get(&link).await).await;
    assert!(page.contains("Did this call take effect?") && page.contains("It did not take effect"), "{page}");
    for known in ["2023-11-14 22:13 UTC", "POST https://mail.example/send", "look x"] {
        assert!(page.contains(known), "{page}");
    }
    assert!(!page.contains("value=\"approve\"") && !page.contains("<textarea"), "{page}");
    assert_eq!(door.press(&link, "decision=approve").await.status(), StatusCode::BAD_REQUEST);
    assert_eq!(door.press(&link, "decision=did_not_happen").await.status(), StatusCode::SEE_OTHER);
    assert_eq!(door.server.settled(&run).await, "completed");
}

#[tokio::test]
async fn without_links_no_link_is_good() {
    let server = TestServer::new([]).await;
    let path = "/approvals/0190163d-8694-739b-aea5-966c26f8ad91?until=9999999999999&mark=00";
    assert_eq!(server.get(path).await.status(), StatusCode::NOT_FOUND);
}

/// T40: what is shown is what is sent, however it is written.
#[tokio::test]
async fn nothing_that_a_model_writes_hides_or_acts_on_the_page() {
    let text_sent = misleading();
    let door = Door::new(&[&text_sent]).await;
    let id = door.questions().await[0].id();
    let held = door.server.get_json(&format!("/api/approvals/{id}")).await;
    let arguments: Value = serde_json::from_str(held["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments["q"], json!(text_sent), "the API gives it to the letter");

    let (_, page) = text(door.get(&door.link().await).await).await;
    assert!(!page.contains('\u{202e}') && !page.contains('\u{2066}') && !page.contains('\u{200b}'));
    for shown in ["⟨U+202E⟩txt.exe⟨U+2066⟩", "⟨U+200B⟩", "&lt;img src=x onerror=alert(1)&gt;&lt;/pre&gt;"]
    {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    // Canonical JSON writes line ends as two characters; all three hundred are there.
    assert_eq!(page.matches("\\n").count(), 300);
    assert_eq!(page.matches("<form").count(), 1, "{page}");
    assert!(!page.contains("<img"), "{page}");
}

#[tokio::test]
async fn a_webhook_is_told_everything_that_the_card_shows_and_the_link() {
    let door = Door::new(&["x"]).await;
    let held = door.questions().await.remove(0);
    let notice = door.links.approval_notice(held.clone(), false, door.server.world.now());
    assert_eq!(
        [&notice["event"], &notice["tool"], &notice["arguments"], &notice["user"], &notice["state"]],
        [
            &json!("approval.asked"),
            &json!("send"),
            &json!("{\"q\":\"x\"}"),
            &json!("local"),
            &json!("pending")
        ]
    );
    assert_eq!(notice["because"], "it changes something and cannot be taken back");
    assert_eq!(notice["expires_at"], held.question.expires_at.0);
    assert_eq!(door.get(notice["link"].as_str().unwrap()).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn the_language_of_a_link_is_that_of_the_browser_unless_the_address_names_one() {
    let door = Door::new(&["x"]).await;
    let link = door.link().await;
    let titles = ["May this call run?", "允许这次调用吗？"];
    for (address, browser, title) in [
        (link.clone(), "zh-CN,zh;q=0.9,en;q=0.8", 1),
        (link.clone(), "de-DE", 0),
        (format!("{link}&lang=en"), "zh-CN", 0),
        (format!("{link}&lang=zh"), "en-GB", 1),
        (format!("{link}&lang=xx"), "zh-TW", 1),
    ] {
        let seen = door.client.get(&address).header("accept-language", browser).send().await.unwrap();
        let (status, page) = text(seen).await;
        assert_eq!(status, StatusCode::OK, "{address}");
        assert!(
            page.contains(titles[title]) && !page.contains(titles[1 - title]),
            "{address} {browser}: {page}"
        );
        // The other language is one click away, under an address that is good as well.
        let other = ["zh", "en"][title];
        let query = link.split_once('?').unwrap().1.replace('&', "&amp;");
        assert!(page.contains(&format!("href=\"?{query}&amp;lang={other}\"")), "{page}");
    }
    // What is said about a link that is not good is said in the reader's language too.
    let (_, page) = text(door.get(&format!("{}/approvals/nothing?lang=zh", door.server.url)).await).await;
    assert!(page.contains("链接无效"), "{page}");
}

#[tokio::test]
async fn a_link_shows_arguments_as_a_form_and_their_exact_text_behind_a_click() {
    let door = Door::new(&["<b>&\u{202e}"]).await;
    let (_, page) = text(door.get(&door.link().await).await).await;
    assert!(page.contains("<dt>Query</dt><dd>&lt;b&gt;&amp;⟨U+202E⟩</dd>"), "{page}");
    assert!(page.contains("<details><summary>Exactly, as JSON</summary>"), "{page}");
    assert!(!page.contains("<b>&"), "{page}");
}
