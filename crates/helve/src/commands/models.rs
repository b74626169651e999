//! `helve models`: which there are, whether they can be used, and what they cost.

mod probe;

use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Subcommand};
use helve_server::{ModelList, ModelView, PriceView, model_list};
use helve_types::{UserId, World};
use unicode_width::UnicodeWidthStr;

use super::{block_on, log_quietly};
use crate::assemble::{Assembly, Hold, assemble, install_tls, problems};
use crate::client::{Client, Reach, line};
use crate::config::Config;
use crate::i18n::{tr, words};
use crate::output::{out, outln, padded};

#[derive(Debug, Args)]
pub(crate) struct ModelsArgs {
    #[command(flatten)]
    pub(super) reach: Reach,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the models with their state, how they call tools, and their price per million tokens
    List {
        /// Print JSON, as `GET /api/models` returns it
        #[arg(long)]
        json: bool,
    },
    /// Show everything that is known about one model
    Show {
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Ask a model a few cheap questions and store what they show: whether it calls tools natively, in parallel and when
    /// it is required to, and which prompt works best if it does not
    Probe {
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn run(args: ModelsArgs) -> anyhow::Result<ExitCode> {
    log_quietly();
    install_tls();
    block_on(async {
        let (client, config) = args.reach.running().await?;
        match (args.action, client) {
            (Action::List { json }, Some(client)) => print_all(&served(&client).await?, json)?,
            (Action::Show { name, json }, Some(client)) => print_one(&served(&client).await?, &name, json)?,
            (Action::Probe { name, json }, Some(client)) => probe::ask_server(&client, &name, json).await?,
            (Action::List { json }, None) => print_all(&all(&look(&config).await?).await?, json)?,
            (Action::Show { name, json }, None) => {
                print_one(&all(&look(&config).await?).await?, &name, json)?
            }
            (Action::Probe { name, json }, None) => probe::probe(&look(&config).await?, &name, json).await?,
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// The models as the server that runs has them.
async fn served(client: &Client) -> anyhow::Result<ModelList> {
    Ok(client.get("/api/models", &[]).await?)
}

/// The parts of this command, which has its own environment.
async fn look(config: &Config) -> anyhow::Result<Assembly> {
    let assembly = assemble(config, &World::real(), Hold::Shared, vec![]).await?;
    assembly.discovery.look_nearby(&assembly.runtime).await;
    Ok(assembly)
}

async fn all(assembly: &Assembly) -> anyhow::Result<ModelList> {
    assembly.runtime.load_model_profiles().await?;
    assembly.runtime.load_user_model_choices().await?;
    Ok(model_list(&assembly.runtime, &*problems(assembly), &UserId::parse("local")?))
}

fn print_all(list: &ModelList, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        outln!("{}", serde_json::to_string_pretty(list)?);
    } else {
        out!("{}", table(list));
    }
    Ok(())
}

fn print_one(list: &ModelList, name: &str, as_json: bool) -> anyhow::Result<()> {
    let model = list.models.iter().find(|model| model.name == name);
    let model = model.with_context(|| unknown_model(name))?;
    if as_json {
        outln!("{}", serde_json::to_string_pretty(model)?);
        return Ok(());
    }
    out!("{}", sheet(model, &list.currency));
    match &model.profile {
        Some(profile) => out!("\n{}", probe::in_words(profile)),
        None => {
            outln!("{}", tr!("\nnot probed; `helve models probe {name}` asks what it can do", name = name))
        }
    }
    Ok(())
}

fn unknown_model(name: &str) -> String {
    tr!("there is no model `{name}`; `helve models list` shows them", name = line(name))
}

/// One line a model, and one more where something is wrong with it.
fn table(list: &ModelList) -> String {
    let price_head = tr!("{currency} IN / OUT", currency = list.currency);
    let head = [String::new(), tr!("NAME"), tr!("STATE"), tr!("TOOLS"), price_head, tr!("MODEL")];
    let row = |model: &ModelView| {
        [
            if model.default { "*" } else { "" }.into(),
            model.name.clone(),
            if model.ready { tr!("ready") } else { tr!("problem") },
            model.mode.to_string(),
            model.price.as_ref().map_or("-".into(), |price| format!("{} / {}", price.input, price.output)),
            origin(model),
        ]
    };
    let rows: Vec<[String; 6]> = list.models.iter().map(row).collect();
    let width = |column: usize| {
        let cells = std::iter::once(&head).chain(&rows).map(|row| row[column].width());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |row: &[String; 6]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| padded(cell, *width));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    let mut text = line(&head);
    for (model, row) in list.models.iter().zip(&rows) {
        text.push_str(&line(row));
        if let Some(problem) = &model.problem {
            text.push_str(&format!("   {:>width$}  {}\n", "", words(problem), width = widths[1]));
        }
    }
    text
}

fn origin(model: &ModelView) -> String {
    let whose = model.vendor.as_ref().or(model.protocol.as_ref());
    match (&model.model, whose, &model.host) {
        (Some(name), Some(whose), Some(host)) => format!("{name} ({whose}, {host})"),
        _ => tr!("inside the program"),
    }
}

/// Everything about one model, a line each.
fn sheet(model: &ModelView, currency: &str) -> String {
    let words = |list: &[String]| if list.is_empty() { tr!("none") } else { list.join(", ") };
    let state = model.problem.as_ref().map_or_else(
        || tr!("ready"),
        |problem| tr!("problem: {problem}", problem = crate::i18n::words(problem)),
    );
    let price = model.price.as_ref().map_or_else(|| tr!("not known"), |price| priced(price, currency));
    let lines = [
        (tr!("name"), Some(model.name.clone())),
        (tr!("default"), Some(yes_or_no(model.default))),
        (tr!("state"), Some(state)),
        (tr!("vendor"), model.vendor.clone()),
        (tr!("protocol"), model.protocol.clone()),
        (tr!("model"), model.model.clone()),
        (tr!("host"), model.host.clone()),
        (tr!("tools"), Some(model.mode.to_string())),
        (tr!("small"), Some(yes_or_no(model.small))),
        (tr!("price"), Some(price)),
        (tr!("variants"), Some(words(&model.variants))),
        (tr!("fallbacks"), Some(words(&model.fallbacks))),
    ];
    let line = |(key, value): (String, Option<String>)| Some(format!("{}  {}\n", padded(&key, 9), value?));
    lines.into_iter().filter_map(line).collect()
}

fn yes_or_no(is: bool) -> String {
    if is { tr!("yes") } else { tr!("no") }
}

fn priced(price: &PriceView, currency: &str) -> String {
    let PriceView { input, cached, cache_write, output, source, as_of } = price;
    let day = as_of.as_ref().map_or(String::new(), |day| tr!(", as of {day}", day = day));
    tr!(
        "{input} in, {cached} cached, {cache_write} cache write, {output} out ({currency} a million tokens; {source}{day})",
        input = input,
        cached = cached,
        cache_write = cache_write,
        output = output,
        currency = currency,
        source = source,
        day = day
    )
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use helve_types::Mode;

    use super::*;

    fn model(name: &str) -> ModelView {
        ModelView {
            name: name.into(),
            default: false,
            vendor: None,
            protocol: None,
            model: None,
            host: None,
            ready: true,
            problem: None,
            notice: None,
            mode: Mode::Native,
            dialect: None,
            profile: None,
            small: false,
            price: None,
            variants: vec![],
            fallbacks: vec![],
        }
    }

    fn list() -> ModelList {
        let house = ModelView {
            default: true,
            vendor: Some("openai".into()),
            protocol: Some("openai_chat".into()),
            model: Some("gpt-5-mini".into()),
            host: Some("api.openai.com".into()),
            ready: false,
            problem: Some("set the environment variable OPENAI_API_KEY".into()),
            price: Some(PriceView {
                input: 0.25,
                cached: 0.025,
                cache_write: 0.25,
                output: 2.0,
                source: "shipped".into(),
                as_of: Some("2026-06-01".into()),
            }),
            variants: vec!["high".into(), "low".into()],
            ..model("house")
        };
        ModelList { models: vec![model("demo"), house], default: "house".into(), currency: "USD".into() }
    }

    #[test]
    fn the_table_has_a_line_a_model_and_says_what_to_do() {
        expect![[r#"
               NAME   STATE    TOOLS   USD IN / OUT  MODEL
               demo   ready    native  -             inside the program
            *  house  problem  native  0.25 / 2      gpt-5-mini (openai, api.openai.com)
                      set the environment variable OPENAI_API_KEY
        "#]]
        .assert_eq(&table(&list()));
    }

    #[test]
    fn the_sheet_says_all_there_is_to_say() {
        expect![[r#"
            name       house
            default    yes
            state      problem: set the environment variable OPENAI_API_KEY
            vendor     openai
            protocol   openai_chat
            model      gpt-5-mini
            host       api.openai.com
            tools      native
            small      no
            price      0.25 in, 0.025 cached, 0.25 cache write, 2 out (USD a million tokens; shipped, as of 2026-06-01)
            variants   high, low
            fallbacks  none
        "#]]
        .assert_eq(&sheet(&list().models[1], "USD"));
    }
}
