//! What is wrong with a definition, or odd about it: a part of what people are told, for those who make tools and agents.
//!
//! The sentences are in `fixtures/definition-codes.json`; the page, which makes no definitions, does not load them.

use serde_json::Value;

use super::Notice;

notices! {
    OF_DEFINITIONS,
    "Every code that a notice about a definition can have, with the names of its parameters.";
    // The kind and shape of a value.
    definition_object_needed();
    definition_missing();
    definition_wrong_kind(wanted: Notice, given: Notice);
    definition_wrong_value(wanted: Notice, given: &str);
    definition_array_given();
    definition_wrong_option(options: &str, given: &str);
    definition_unknown_field(field: &str, known: &str);
    definition_no_field_of_none();
    definition_unknown_field_here(field: &str);
    definition_field_twice(field: &str);
    definition_no_form();
    definition_problem(field: &str, problem: Notice);
    // What another part says, in its words.
    definition_other(detail: &str);
    definition_kind_object();
    definition_kind_array();
    definition_kind_boolean();
    definition_kind_string();
    definition_kind_null();
    definition_kind_integer();
    definition_kind_natural();
    definition_kind_positive();
    definition_kind_number();

    // Names, labels and texts.
    definition_name_unfit(max: u64);
    definition_name_reserved(name: &str);
    definition_name_of_builtin();
    definition_name_of_program();
    definition_name_kept(name: &str);
    definition_id_kept(id: &str);
    definition_id_reserved(id: &str);
    definition_id_unfit(max: u64);
    definition_label_unfit(max: u64);
    definition_description_empty();
    definition_description_too_long(max: u64);
    definition_checks_itself();
    definition_variable_unfit();
    definition_variable_of_helve(env: &str);
    definition_required_undescribed(name: &str);
    definition_makes_no_tools();

    // Rows that are imported.
    definition_beside_tools();
    definition_list_needed();
    definition_text_unfit(detail: &str);
    definition_not_json(detail: &str);
    definition_key_twice(key: &str);
    definition_rows_too_many(count: u64, max: u64);
    definition_timeout_twice();
    definition_timeout_unfit(max: u64, given: &str);
    definition_string_needed();
    definition_prefix_missing(ending: &str);
    definition_mapped_nulls(names: &str);
    definition_mapped_time(field: &str);
    definition_mapped_version(version: &str);
    definition_mapped_method();
    definition_mapped_timeout_default();
    definition_mapped_timeout(timeout: &str, millis: u64);
    definition_mapped_auth(env: &str);
    definition_mapped_password(env: &str);

    // Guards.
    definition_out_of_range(value: u64, min: u64, max: u64);
    definition_cache_needs_read();
    definition_fallback_itself();
    definition_last_good_needs_read();
    definition_rate_twice(other: &str);
    definition_rate_needs_window();
    definition_rate_needs_count();

    // Tools inside Helve.
    definition_inside_unknown(name: &str, known: &str);
    definition_inside_of_client();
    definition_inside_own_answers();
    definition_inside_no_http();
    definition_inside_no_argument(name: &str, known: &str);
    definition_inside_wrong_type(name: &str, given: &str, wanted: &str);
    definition_inside_needs_argument(name: &str, needed: &str);
    definition_inside_label(name: &str);

    // Endpoints.
    definition_url_blank();
    definition_url_fragment();
    definition_url_not_whole(example: &str);
    definition_url_placeholder_in_host();
    definition_url_credentials();
    definition_url_unreadable(address: &str, detail: &str);
    definition_url_dots(dots: &str);
    definition_url_query_name(name: &str);
    definition_brace_alone(text: &str, twice: &str);
    definition_brace_empty(slot: &str);
    definition_no_property(slot: &str, known: &str);
    definition_no_properties(slot: &str);
    definition_path_needs_value(slot: &str, name: &str);
    definition_query_twice();
    definition_get_without_body();
    definition_method_without_body();
    definition_form_is_object();
    definition_body_without_place(name: &str);
    definition_name_sent_otherwise(slot: &str);
    definition_header_unfit(name: &str);
    definition_header_credentials();
    definition_header_not_allowed(detail: &str);
    definition_header_control();
    definition_header_value();
    definition_header_twice();
    definition_redirects_too_many(max: u64);
    definition_head_streams_nothing();
    definition_method_changes();
    definition_method_not_repeatable();
    definition_read_needs_no_key();
    definition_cache_tells_user();
    definition_username_unfit();
    definition_key_header_unfit(name: &str);
    definition_key_query_missing();
    definition_secret_unknown(name: &str, known: &str);
    definition_secret_unknown_of_none(name: &str);
    definition_secret_elsewhere(name: &str, host: &str);
    definition_signed_needs_plain();
    definition_path_and_jq();
    definition_bytes_too_many(max: u64);
    definition_address_of_server(place: &str);
    definition_address_on_this_machine(place: &str);

    // Programs in the folder of tools.
    definition_program_twice(name: &str);
    definition_file_too_large(max: u64);
    definition_file_unreadable(file: &str, detail: &str);
    definition_file_open_to_all(file: &str);
    definition_command_empty();
    definition_program_missing(file: &str);
    definition_program_not_beside(name: &str);
    definition_programs_beside(one: &str, other: &str);
    definition_program_not_executable(file: &str);
    definition_script_without_end(mark: &str, detail: &str);
    definition_script_without_json(mark: &str, detail: &str);
    definition_variable_not_set(name: &str);

    // Agents.
    definition_agent_link_of_all();
    definition_agent_link_statuses();
    definition_agent_name_unfit(max: u64);
    definition_agent_name_reserved(name: &str);
    definition_agent_name_kept(name: &str);
    definition_agent_id_kept(id: &str);
    definition_question_empty();
    definition_number_needed(min: u64, max: &str);
    definition_tool_twice(name: &str);
    definition_text_too_long(max: u64);
    definition_items_too_many(max: u64);
    definition_members_too_many(max: u64);
    definition_json_too_long(max: u64);
    definition_limit_unfit(amount: &str);
    definition_share_unfit(share: &str);
    definition_model_unknown(name: &str);

    // Skills.
    definition_skill_name_unfit(max: u64);
    definition_skill_without_file();
    definition_skill_both_forms();
    definition_skill_of_folder(name: &str);
    definition_front_matter_missing();
    definition_front_matter_unreadable(line: u64);
    definition_path_unfit(path: &str, max: u64, depth: u64);
    definition_path_twice(path: &str);
    definition_not_a_plain_file(path: &str);
    definition_not_text();
    definition_base64_wrong();
    definition_file_in_one_form();
    definition_files_too_many(max: u64);
    definition_larger_than(max_bytes: u64);
    definition_archive_unknown();
    definition_archive_broken();
    definition_archive_unsupported();
    definition_archive_expands(ratio: u64);
    definition_path_unreadable(path: &str, detail: &str);

    // What is odd, but may be meant.
    definition_odd_long_description(length: u64);
    definition_odd_hidden(path: &str, character: &str);
    definition_odd_hidden_name(path: &str);
    definition_odd_fallback(name: &str);
    definition_odd_check_missing(name: &str);
    definition_odd_check_changes(name: &str);
    definition_odd_example(number: u64);
    definition_odd_unbound(secret: &str, tool: &str, env: &str, place: &str);
    definition_odd_without_value(secret: &str, env: &str);
    definition_odd_short(secret: &str, env: &str, min: u64);
}
