//! What every engine is held to: the definition of the interface, in examples and properties.
//!
//! A test gets a store that may have been used before and may be in use: it makes accounts of its own, and
//! assumes nothing about numbers and positions but their order. To hold an engine to it, list it in
//! [`hold_to_the_interface`] with a function that opens it.

pub(crate) mod accounts;
pub(crate) mod activities;
pub(crate) mod connections;
pub(crate) mod credentials;
pub(crate) mod deliveries;
pub(crate) mod dormancy;
pub(crate) mod facts;
pub(crate) mod fanout_mode;
pub(crate) mod feeds;
pub(crate) mod fresh;
pub(crate) mod grants;
pub(crate) mod graph;
pub(crate) mod log;
mod naive;
pub(crate) mod networks;
pub(crate) mod pulled;
pub(crate) mod sources;
pub(crate) mod update;

use std::sync::Arc;

/// An engine, shared by the tasks of a test.
pub(crate) type Engine = Arc<dyn store::Store>;

/// Makes a test of every part of the suite. `$open` is an async function that gives an [`Engine`] and
/// whatever has to live as long as it, or nothing where that engine does not run.
macro_rules! hold_to_the_interface {
    ($open:path) => {
        hold_to_the_interface! { $open,
            accounts: a_new_account_is_found, a_name_is_given_once, of_many_claims_of_a_name_one_wins,
                a_state_replaces_the_version_that_it_was_made_of, a_removed_account_is_found_by_name, a_disabled_account_stays_where_it_is,
                the_later_picture_stays, a_picture_without_sizes_is_none, listing_gives_each_once;
            credentials: a_key_is_found_by_its_hash, keys_are_listed_oldest_first, a_revocation_is_for_good,
                the_latest_use_of_a_key_stays, applications_are_kept, a_removal_of_an_application_is_for_good,
                applications_of_an_account_are_listed_oldest_first;
            grants: temporary_credentials_are_kept, the_first_decision_counts, of_many_decisions_one_counts,
                only_what_was_allowed_is_exchanged, of_many_exchanges_one_wins, tokens_are_listed_oldest_first,
                all_tokens_are_paged, a_revoked_token_stays_revoked, the_latest_use_of_a_token_stays,
                a_secret_is_sealed_anew_where_it_was_read, a_nonce_is_claimed_once,
                of_many_claims_of_a_nonce_one_wins, sessions_are_kept_until_they_are_ended,
                sessions_are_listed_newest_first, the_latest_use_of_a_session_stays, a_ticket_is_used_once,
                of_many_uses_of_a_ticket_one_wins,
                nothing_is_forgotten_before_its_end;
            networks: the_latest_expiry_of_a_network_stays, an_account_has_so_many_networks,
                networks_are_forgotten_with_their_account;
            graph: an_edge_is_seen_from_both_ends, an_edge_is_followed_up, the_later_edge_wins, edges_line_up, following_pages,
                followers_page;
            activities: an_accepted_activity_is_there, what_is_stored_comes_back_unchanged,
                a_claim_on_another_version_is_refused, of_many_claims_of_an_address_one_is_stored,
                a_batch_sees_its_own_claims, a_new_version_replaces_the_old,
                a_deleted_activity_is_known_as_such,
                an_address_can_be_used_again, addresses_are_compared_exactly, look_ups_line_up,
                repeating_an_acceptance_changes_nothing, positions_follow_acceptance;
            feeds: a_slice_is_in_order, ties_go_by_identifier, the_range_is_exact_at_both_ends,
                every_box_by_itself_and_together, an_entry_is_gone_when_all_its_rows_are, extreme_times,
                slices_of_nothing, a_thousand_facets, removals_are_noted, slices_are_what_a_naive_model_gives;
            deliveries: the_later_version_wins_then_the_later_position,
                the_order_of_deliveries_does_not_matter,
                many_at_one_position_are_paged, changes_come_behind_the_entries_of_their_position,
                arrivals_end_at_the_floor, of_one_place_the_wider_account_of_what_was_before_stays, a_new_version_arrives_anew,
                arrivals_are_what_a_naive_model_gives;
            sources: a_source_is_kept, all_sources_are_listed, a_source_replaces_the_version_that_it_was_made_of, a_source_is_given_when_its_time_has_come,
                what_is_due_comes_in_portions, sources_are_what_a_naive_model_gives,
                of_many_takers_of_a_lease_one_has_it, a_lease_ends;
            connections: a_connection_is_seen_from_both_ends, a_connection_replaces_the_version_that_it_was_made_of, connections_to_a_source_are_paged,
                connections_are_what_a_naive_model_gives;
            log: tasks_wait_until_they_are_acknowledged, the_floor_waits_for_the_oldest_task,
                acknowledging_twice_is_once, concurrent_acceptances_are_all_logged,
                every_kind_of_work_comes_back_unchanged, what_follows_a_task_waits_before_it_is_acknowledged,
                a_task_that_failed_comes_back_when_its_time_has_come, a_version_that_failed_knows_where_it_was_accepted, a_dead_letter_can_be_tried_again;
            fanout_mode: nobody_is_pulled_at_first, the_later_audience_stays, audiences_line_up,
                what_is_pulled_is_told_to_the_reader, what_is_pushed_nevertheless_is_told_to_the_actor,
                a_follower_pulls_from_so_many_at_most, of_many_choices_one_counts,
                an_edge_that_ended_is_not_told_of, the_order_of_choices_does_not_matter, pushed_followers_page;
            dormancy: the_latest_read_stays, last_reads_line_up, the_later_phase_stays, who_sleeps_is_woken_once,
                whoever_wakes_it_is_followed_up, the_latest_sleep_of_an_edge_stays, sleep_is_told_of_each_edge,
                its_tasks_are_kept_whatever_becomes_of_them;
            pulled: a_mark_is_on_the_state_and_on_the_actors_entry, the_later_row_stays_marked_or_not,
                a_mark_is_seen_among_several_boxes, slices_are_what_each_slice_is,
                own_arrivals_leave_out_what_others_did, own_arrivals_are_what_a_naive_model_gives,
                followed_entries_are_found_by_what_their_actors_have;
            update: concurrent_changes_of_different_fields_all_stay, of_many_first_states_one_is_added,
                an_unchanged_state_is_not_written, a_refused_change_changes_nothing,
                a_secret_is_replaced_once, an_unknown_outcome_is_resolved;
            facts: the_store_answers, the_first_to_fix_a_fact_wins;
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
