//! The conformance suite of every engine: the definition of the interface, in examples and properties.
//!
//! A test gets a store that may have been used before and may be in use. It creates its own accounts, and assumes
//! nothing about numbers and positions except their order. To test an engine, call [`conformance_tests`] with a
//! function that opens it.

pub(crate) mod accounts;
pub(crate) mod activities;
pub(crate) mod audit;
pub(crate) mod connections;
pub(crate) mod credentials;
pub(crate) mod deliveries;
pub(crate) mod dormancy;
pub(crate) mod erasure;
pub(crate) mod facts;
pub(crate) mod fanout_mode;
pub(crate) mod feeds;
pub(crate) mod fresh;
pub(crate) mod grants;
pub(crate) mod graph;
pub(crate) mod hooks;
pub(crate) mod log;
pub(crate) mod networks;
pub(crate) mod pull;
mod reference;
pub(crate) mod relations;
pub(crate) mod seen;
pub(crate) mod sources;
pub(crate) mod update;
pub(crate) mod usage;

use std::sync::Arc;

/// An engine, shared by the tasks of a test.
pub(crate) type Engine = Arc<dyn store::Store>;

/// Generates all tests of the suite. `$open` is an async function that returns an [`Engine`] and a guard that lives
/// as long as it, or `None` if the engine is not available.
macro_rules! conformance_tests {
    ($open:path) => {
        conformance_tests! { $open,
            accounts: a_new_account_is_found, a_name_is_never_reused, of_concurrent_claims_of_a_name_one_wins,
                an_account_is_replaced_by_compare_and_set, a_removed_account_is_found_by_name, a_disabled_account_is_still_found,
                the_later_picture_wins, a_picture_without_sizes_deletes_it, all_accounts_are_listed_once,
                public_accounts_are_found_by_prefix, a_changed_account_is_found_by_its_new_words_only;
            credentials: a_key_is_found_by_its_hash, keys_are_listed_oldest_first, a_revocation_is_permanent,
                the_latest_use_of_a_key_wins, applications_are_stored, removal_of_an_application_is_permanent,
                applications_of_an_account_are_listed_oldest_first;
            grants: temporary_credentials_are_stored, the_first_decision_counts, of_concurrent_decisions_one_counts,
                only_allowed_credentials_are_exchanged, of_concurrent_exchanges_one_wins, tokens_are_listed_oldest_first,
                all_tokens_are_paged, a_revoked_token_stays_revoked, the_latest_use_of_a_token_wins,
                a_secret_is_resealed_by_compare_and_set, a_nonce_is_claimed_once,
                of_concurrent_claims_of_a_nonce_one_wins, sessions_are_stored_until_they_end,
                sessions_are_listed_newest_first, the_latest_use_of_a_session_wins, a_ticket_is_used_once,
                of_concurrent_uses_of_a_ticket_one_wins,
                nothing_is_deleted_before_it_expires;
            networks: the_latest_expiry_of_a_network_wins, the_number_of_networks_is_limited,
                all_networks_of_an_account_are_deleted;
            graph: an_edge_is_seen_from_both_ends, an_edge_appends_a_task, the_later_edge_wins, edges_are_returned_in_request_order, following_is_paged,
                followers_are_paged;
            activities: an_accepted_activity_is_stored, stored_activities_are_returned_unchanged,
                a_claim_on_another_version_is_refused, of_concurrent_claims_of_an_external_key_one_is_stored,
                a_batch_sees_its_own_claims, a_new_version_replaces_the_old,
                a_deleted_activity_is_marked_as_deleted,
                an_external_key_can_be_reused_after_deletion, external_keys_are_compared_exactly, activities_are_returned_in_request_order,
                repeating_an_acceptance_changes_nothing, positions_follow_the_order_of_acceptance;
            feeds: a_slice_is_in_order, ties_are_ordered_by_identifier, the_range_is_exact_at_both_ends,
                slices_of_one_or_several_reasons, an_entry_is_retracted_when_all_its_rows_are, extreme_times_are_ordered,
                empty_slices, a_slice_merges_a_thousand_facets, removals_are_stored, slices_match_the_reference_model;
            deliveries: the_later_version_wins_then_the_later_position,
                the_order_of_deliveries_does_not_matter,
                many_arrivals_at_one_position_are_paged, a_change_follows_the_entries_of_its_position,
                arrivals_end_at_the_floor, at_one_position_the_wider_prior_visibility_wins, a_new_version_arrives_again,
                arrivals_match_the_reference_model;
            sources: a_source_is_stored, all_sources_are_listed, a_source_is_replaced_by_compare_and_set, a_source_is_returned_when_due,
                due_sources_are_limited_and_ordered, sources_match_the_reference_model,
                of_concurrent_callers_one_acquires_a_lease, a_lease_expires_or_is_released;
            connections: a_connection_is_seen_from_both_ends, a_connection_is_replaced_by_compare_and_set, connections_to_a_source_are_paged,
                connections_match_the_reference_model;
            seen: a_seen_position_is_stored_per_collection, a_seen_position_is_replaced_by_compare_and_set,
                concurrent_moves_end_at_the_furthest;
            hooks: a_hook_is_stored, a_hook_is_replaced_by_compare_and_set, hooks_of_a_shard_are_paged,
                hooks_match_the_reference_model, the_later_progress_wins;
            log: tasks_are_pending_until_they_are_acknowledged, the_floor_waits_for_the_oldest_task,
                acknowledging_is_idempotent, concurrent_acceptances_are_all_logged,
                every_kind_of_work_is_returned_unchanged, follow_up_work_is_appended_when_a_task_is_acknowledged,
                a_failed_task_returns_when_its_retry_is_due, a_retried_version_keeps_its_position_of_acceptance, a_dead_letter_can_be_replayed,
                a_task_keeps_its_trace;
            fanout_mode: the_default_fanout_state_is_push, the_later_fanout_state_wins, fanout_states_are_returned_in_request_order,
                pulled_actors_are_in_the_delivery_state, followers_in_push_mode_are_listed_by_actor,
                the_number_of_pulled_actors_is_limited, of_concurrent_assignments_one_wins,
                an_ended_edge_is_not_listed, the_order_of_assignments_does_not_matter, pushed_followers_are_paged;
            dormancy: the_latest_read_wins, last_reads_are_returned_in_request_order, the_later_dormancy_wins, a_dormant_account_is_reactivated_once,
                concurrent_reactivations_append_a_task, the_latest_edge_dormancy_wins, dormancy_is_stored_per_edge,
                tasks_survive_retry_and_replay;
            pull: pulled_is_on_the_state_and_on_the_authored_entry, the_later_row_wins_pulled_or_not,
                pulled_is_visible_among_several_reasons, slices_read_together_equal_single_slices,
                own_arrivals_have_authored_entries_only, own_arrivals_match_the_reference_model,
                followed_entries_are_found_by_authored_entries, a_removed_entry_stays_only_if_it_was_delivered_again;
            relations: a_block_is_seen_from_both_ends, the_later_decision_wins, relations_are_returned_in_request_order,
                decisions_are_listed_in_order, a_decision_appends_a_task, the_later_edge_filter_wins,
                a_filter_appends_a_task;
            usage: usage_is_counted_by_day, a_refused_version_does_not_count;
            update: concurrent_updates_of_different_fields_are_all_kept, of_concurrent_inserts_one_wins,
                an_unchanged_state_is_not_written, a_refused_update_changes_nothing,
                a_secret_is_replaced_once, an_unknown_outcome_is_resolved;
            audit: records_are_paged_newest_first, records_are_found_by_account, erased_details_do_not_return,
                the_latest_head_wins, a_second_factor_is_replaced_by_compare_and_set;
            erasure: a_removed_account_is_queued_and_erased;
            facts: ping_succeeds, the_first_call_sets_a_fact;
        }
    };
    ($open:path, $($area:ident: $($test:ident),+;)+) => {
        $(mod $area {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                let Some((engine, _keep)) = $open().await else { return };
                crate::main::conformance::$area::$test(engine).await;
            })+
        })+
    };
}
