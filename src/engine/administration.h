#pragma once

#include "engine/tables.h"

// Queues, users, shared values, and many tasks at once.
namespace retsu::engine {

Result<QueueInfo> get_queue(const Tables& tables, const GetQueue& command);
QueueList list_queues(const Tables& tables, const ListQueues& command);
Result<QueueInfo> put_queue(Tables& tables, std::string_view name, QueuePolicy policy);
Result<QueueInfo> patch_queue(Tables& tables, const PatchQueue& command);
Result<QueueInfo> set_paused(Tables& tables, std::string_view name, bool paused);
Result<Removed> delete_queue(Tables& tables, const DeleteQueue& command);
Result<BulkReply> purge_queue(Tables& tables, const PurgeQueue& command);

UserList list_users(const Tables& tables, const ListUsers& command);
PutUserReply put_user(Tables& tables, const PutUser& command);

Result<XcomValue> get_xcom(const Tables& tables, const GetXcom& command);
Result<XcomValue> put_xcom(Tables& tables, const PutXcom& command);
Result<Removed> delete_xcom(Tables& tables, const DeleteXcom& command);

Result<Task> cancel_task(Tables& tables, const CancelTask& command);
Result<Task> retry_task(Tables& tables, const RetryTask& command);
Result<Task> front_task(Tables& tables, const FrontTask& command);
Result<Removed> remove_task(Tables& tables, const RemoveTask& command);
Result<BulkReply> cancel_tasks(Tables& tables, const CancelTasks& command);
Result<BulkReply> retry_tasks(Tables& tables, const RetryTasks& command);
Result<BulkReply> redrive_dead(Tables& tables, const RedriveDead& command);
Result<BulkReply> purge_dead(Tables& tables, const PurgeDead& command);

StatsReply stats(const Tables& tables);
DrainReply set_draining(Tables& tables, bool draining);

}  // namespace retsu::engine
