//! The text format of Prometheus, version 0.0.4.

use std::fmt::Write;

use helve_tool::{BOUNDS_US, Distribution};

#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// A page that grows family by family.
#[derive(Default)]
pub(super) struct Exposition {
    text: String,
    /// The family that samples belong to.
    family: &'static str,
}

type Labels<'a> = [(&'a str, &'a str)];

impl Exposition {
    pub(super) fn begin_family(&mut self, name: &'static str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        self.family = name;
        self.write(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    pub(super) fn add_sample(&mut self, labels: &Labels<'_>, value: f64) {
        self.write_line("", labels, None, value);
    }

    /// A histogram, whose buckets each hold all that is below their bound.
    pub(super) fn add_distribution(&mut self, labels: &Labels<'_>, held: &Distribution) {
        let mut below = 0;
        for (count, bound) in held.buckets.iter().zip(BOUNDS_US) {
            below += count;
            self.write_line("_bucket", labels, Some(&to_seconds(bound).to_string()), below as f64);
        }
        let count = held.count();
        self.write_line("_bucket", labels, Some("+Inf"), count as f64);
        self.write_line("_sum", labels, None, to_seconds(held.total_us));
        self.write_line("_count", labels, None, count as f64);
    }

    fn write_line(&mut self, suffix: &str, labels: &Labels<'_>, le: Option<&str>, value: f64) {
        let family = self.family;
        self.write(format_args!("{family}{suffix}"));
        let labels = labels.iter().copied().chain(le.map(|bound| ("le", bound)));
        let mut before = '{';
        for (name, text) in labels {
            self.write(format_args!("{before}{name}=\"{}\"", escape_label(text)));
            before = ',';
        }
        if before == ',' {
            self.text.push('}');
        }
        self.write(format_args!(" {value}\n"));
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        _ = self.text.write_fmt(text);
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

fn to_seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

fn escape_label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use expect_test::expect;
    use helve_tool::Histogram;

    use super::*;

    #[test]
    fn samples_stand_under_their_family_with_their_labels() {
        let mut page = Exposition::default();
        page.begin_family("calls_total", Kind::Counter, "Calls.");
        page.add_sample(&[("tool", "look"), ("outcome", "failed")], 3.0);
        page.begin_family("up", Kind::Gauge, "Up.");
        page.add_sample(&[], 0.5);
        page.add_sample(&[("odd", "a\"b\\c\nd")], 1.0);
        expect![[r#"
            # HELP calls_total Calls.
            # TYPE calls_total counter
            calls_total{tool="look",outcome="failed"} 3
            # HELP up Up.
            # TYPE up gauge
            up 0.5
            up{odd="a\"b\\c\nd"} 1
        "#]]
        .assert_eq(&page.finish());
    }

    #[test]
    fn each_bucket_holds_all_that_is_below_its_bound() {
        let histogram = Histogram::default();
        for ms in [1, 1, 7, 90_000] {
            histogram.record(Duration::from_millis(ms));
        }
        let mut page = Exposition::default();
        page.begin_family("took_seconds", Kind::Histogram, "Time.");
        page.add_distribution(&[("tool", "look")], &histogram.snapshot());
        let page = page.finish();
        for line in [
            "took_seconds_bucket{tool=\"look\",le=\"0.0005\"} 0",
            "took_seconds_bucket{tool=\"look\",le=\"0.001\"} 2",
            "took_seconds_bucket{tool=\"look\",le=\"0.01\"} 3",
            "took_seconds_bucket{tool=\"look\",le=\"60\"} 3",
            "took_seconds_bucket{tool=\"look\",le=\"+Inf\"} 4",
            "took_seconds_sum{tool=\"look\"} 90.009",
            "took_seconds_count{tool=\"look\"} 4",
        ] {
            assert!(page.lines().any(|held| held == line), "{line} is not in\n{page}");
        }
    }
}
