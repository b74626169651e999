//! `make bench`: what Helve costs, as ratios within one run.
//!
//! Machines are noisy, so nothing here is an absolute figure to hold anybody to: each table sets Helve beside
//! something bare that was measured in the same minute. Servers run as processes of their own, so that their CPU
//! time and memory are theirs alone. `make bench ARGS=turns` runs one section.

mod floor;
mod guards;
mod load;
mod open;
mod pipeline;
mod processes;
mod protocols;
mod readers;
mod rig;
mod stopwatch;
mod streams;
mod turns;

use anyhow::bail;

/// The product's allocator, for the floor too. Tools that watch a heap see only the system's.
#[cfg(not(feature = "system-allocator"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        // The processes that a bench starts are this same binary.
        ["serve-mock", port] => processes::mock(port.parse()?),
        ["serve-floor", port, model] => floor::serve(port.parse()?, model),
        ["serve-rig", port, model] => rig::serve(port.parse()?, model),
        ["serve-helve", port, model, data, protocol] => processes::helve(port, model, data, protocol),
        ["hold", reader, protocol, address] => protocols::hold(reader, protocol, address),
        [] => {
            pipeline::report()?;
            guards::report()?;
            turns::report()?;
            streams::report()?;
            open::report()?;
            protocols::report()?;
            readers::report()
        }
        ["pipeline"] => pipeline::report(),
        ["guards"] => guards::report(),
        ["turns"] => turns::report(),
        ["streams"] => streams::report(),
        ["open"] => open::report(),
        ["protocols"] => protocols::report(),
        ["readers"] => readers::report(),
        _ => bail!("use one of: pipeline, guards, turns, streams, open, protocols, readers"),
    }
}

/// A runtime for the side that asks.
fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?.block_on(work)
}
