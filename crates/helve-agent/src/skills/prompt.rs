//! What a model is told of its skills: their names and what they are for. The rest it loads.
//!
//! It stands behind the agent's own prompt and is the same in every run with the same skills, so that prompt caches hit.

use helve_dialect::escape_output;
use helve_tool::{LOAD_SKILL, READ_SKILL_FILE, RunSkills};
use helve_types::Language;

/// What all descriptions may have together; they are cut alike where they have more.
const CHARS_MAX: usize = 12_000;
/// A description is not cut below this.
const DESCRIPTION_CHARS_MIN: usize = 60;
/// So many skills are told, and how many more there are.
const SKILLS_MAX: usize = 200;

/// The part of the system prompt about skills; empty without any.
pub fn skills_prompt(skills: &RunSkills, language: Language) -> String {
    let count = skills.iter().len();
    if count == 0 {
        return String::new();
    }
    let told = count.min(SKILLS_MAX);
    let whole: usize =
        skills.iter().take(told).map(|skill| skill.definition.description.chars().count()).sum();
    let chars_max =
        if whole <= CHARS_MAX { usize::MAX } else { (CHARS_MAX / told).max(DESCRIPTION_CHARS_MIN) };
    let mut text = introduction(language);
    for skill in skills.iter().take(told) {
        let description = shorten(&skill.definition.description, chars_max);
        text.push_str(&format!("\n- {}: {}", skill.definition.name, escape_output(&description)));
    }
    if count > told {
        text.push_str(&match language {
            Language::English => format!("\n({} more skills are not listed.)", count - told),
            Language::Chinese => format!("\n（另有 {} 个技能未列出。）", count - told),
        });
    }
    text
}

fn introduction(language: Language) -> String {
    match language {
        Language::English => format!(
            "# Skills\nA skill is a set of instructions for one kind of task. When a task fits a skill below, call \
             `{LOAD_SKILL}` with its name before you begin, and follow what it says. Files that it mentions are read with \
             `{READ_SKILL_FILE}`. Do not guess what a skill says."
        ),
        Language::Chinese => format!(
            "# 技能\n技能是针对某一类任务的一套说明。当任务符合下面某个技能时，先用它的名字调用 `{LOAD_SKILL}`，再按其中的说明去做。\
             技能里提到的文件用 `{READ_SKILL_FILE}` 读取。不要猜测技能的内容。"
        ),
    }
}

/// One line of at most so many characters.
fn shorten(text: &str, chars_max: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= chars_max {
        return line;
    }
    line.chars().take(chars_max.saturating_sub(1)).chain(['…']).collect()
}
