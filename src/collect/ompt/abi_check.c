/* SPDX-License-Identifier: MIT */
/* Compares our declarations with a compiler's omp-tools.h, where one is installed. Compiled, never linked. */
#include "abi.h"

#include <omp-tools.h>

#define SAME(ours, theirs) _Static_assert((unsigned)(ours) == (unsigned)(theirs), #ours)
#define SAME_OFFSET(ours, our_field, theirs, their_field)                                                              \
    _Static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field), #ours "." #our_field)

_Static_assert(sizeof(union omp_data) == sizeof(ompt_data_t), "omp_data");
_Static_assert(sizeof(struct omp_tool) == sizeof(ompt_start_tool_result_t), "omp_tool");
SAME_OFFSET(struct omp_tool, finalize, ompt_start_tool_result_t, finalize);
SAME_OFFSET(struct omp_tool, tool_data, ompt_start_tool_result_t, tool_data);

SAME(OMP_SET_SOMETIMES, ompt_set_sometimes);
SAME(OMP_SET_ALWAYS, ompt_set_always);
SAME(OMP_EVENT_THREAD_BEGIN, ompt_callback_thread_begin);
SAME(OMP_EVENT_THREAD_END, ompt_callback_thread_end);
SAME(OMP_EVENT_PARALLEL_BEGIN, ompt_callback_parallel_begin);
SAME(OMP_EVENT_PARALLEL_END, ompt_callback_parallel_end);
SAME(OMP_EVENT_TASK_CREATE, ompt_callback_task_create);
SAME(OMP_EVENT_TASK_SCHEDULE, ompt_callback_task_schedule);
SAME(OMP_EVENT_IMPLICIT_TASK, ompt_callback_implicit_task);
SAME(OMP_EVENT_TARGET, ompt_callback_target);
SAME(OMP_EVENT_TARGET_DATA_OP, ompt_callback_target_data_op);
SAME(OMP_EVENT_TARGET_SUBMIT, ompt_callback_target_submit);
SAME(OMP_EVENT_SYNC_REGION_WAIT, ompt_callback_sync_region_wait);
SAME(OMP_EVENT_MUTEX_RELEASED, ompt_callback_mutex_released);
SAME(OMP_EVENT_TASK_DEPENDENCE, ompt_callback_task_dependence);
SAME(OMP_EVENT_WORK, ompt_callback_work);
SAME(OMP_EVENT_SYNC_REGION, ompt_callback_sync_region);
SAME(OMP_EVENT_MUTEX_ACQUIRE, ompt_callback_mutex_acquire);
SAME(OMP_EVENT_MUTEX_ACQUIRED, ompt_callback_mutex_acquired);
SAME(OMP_EVENT_CANCEL, ompt_callback_cancel);
SAME(OMP_EVENT_REDUCTION, ompt_callback_reduction);
SAME(OMP_EVENT_DISPATCH, ompt_callback_dispatch);
SAME(OMP_EVENT_TARGET_EMI, ompt_callback_target_emi);
SAME(OMP_EVENT_TARGET_DATA_OP_EMI, ompt_callback_target_data_op_emi);
SAME(OMP_EVENT_TARGET_SUBMIT_EMI, ompt_callback_target_submit_emi);

SAME(OMP_BEGIN, ompt_scope_begin);
SAME(OMP_BEGIN_END, ompt_scope_beginend);
SAME(OMP_SYNC_EXPLICIT, ompt_sync_region_barrier_explicit);
SAME(OMP_SYNC_IMPLEMENTATION, ompt_sync_region_barrier_implementation);
SAME(OMP_SYNC_TASKWAIT, ompt_sync_region_taskwait);
SAME(OMP_SYNC_TASKGROUP, ompt_sync_region_taskgroup);
SAME(OMP_SYNC_REDUCTION, ompt_sync_region_reduction);
SAME(OMP_WORK_LOOP, ompt_work_loop);
SAME(OMP_WORK_SINGLE_OTHER, ompt_work_single_other);
SAME(OMP_WORK_WORKSHARE, ompt_work_workshare);
SAME(OMP_WORK_TASKLOOP, ompt_work_taskloop);
SAME(OMP_DISPATCH_SECTION, ompt_dispatch_section);
SAME(OMP_MUTEX_LOCK, ompt_mutex_lock);
SAME(OMP_MUTEX_TEST_NEST_LOCK, ompt_mutex_test_nest_lock);
SAME(OMP_MUTEX_ORDERED, ompt_mutex_ordered);
SAME(OMP_TASK_INITIAL, ompt_task_initial);
SAME(OMP_TASK_EXPLICIT, ompt_task_explicit);
SAME(OMP_TASK_UNDEFERRED, ompt_task_undeferred);
SAME(OMP_TASK_UNTIED, ompt_task_untied);
SAME(OMP_TASK_FINAL, ompt_task_final);
SAME(OMP_TASK_MERGEABLE, ompt_task_mergeable);
SAME(OMP_TASK_COMPLETE, ompt_task_complete);
SAME(OMP_TASK_DETACH, ompt_task_detach);
SAME(OMP_TASK_LATE_FULFILL, ompt_task_late_fulfill);
SAME(OMP_TASK_SWITCH, ompt_task_switch);
SAME(OMP_CANCEL_PARALLEL, ompt_cancel_parallel);
SAME(OMP_CANCEL_DISCARDED_TASK, ompt_cancel_discarded_task);
SAME(OMP_TARGET_UPDATE, ompt_target_update);
SAME(OMP_DATA_ALLOC, ompt_target_data_alloc);
SAME(OMP_DATA_DELETE, ompt_target_data_delete);
#if defined(_OPENMP) && _OPENMP >= 202011 /* names that a 5.0 header doesn't have */
SAME(OMP_EVENT_MASKED, ompt_callback_masked);
SAME(OMP_SYNC_TEAMS, ompt_sync_region_barrier_teams);
SAME(OMP_TASKWAIT_COMPLETE, ompt_taskwait_complete);
#endif
