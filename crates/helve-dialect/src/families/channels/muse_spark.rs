//! Muse Spark: the channels of Muse Glimmer, and a `commentary` that people see.

use super::muse_glimmer;
use crate::Dialect;

pub(crate) static DIALECT: Dialect = Dialect {
    name: "muse_spark",
    models: "Muse Spark",
    sample: "<|start|>assistant to=get_weather<|message|><atem:function_calls>\n<atem:invoke name=\"get_weather\">\n<atem:parameter name=\"city\">¤</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eot|>",
    openers: muse_glimmer::OPENERS,
    reasoning: &[],
    over: muse_glimmer::OVER,
    strays: muse_glimmer::STRAYS,
    ..Dialect::PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::check;

    #[test]
    fn cases() {
        check(
            &DIALECT,
            &[(
                "to=commentary<|message|>Let me see.<|eom|><|start|>assistant to=time<|message|><atem:function_calls>\n<atem:invoke name=\"time\">\n</atem:invoke>\n</atem:function_calls><|eot|>",
                "say Let me see. | call time {}",
            )],
        );
    }
}
