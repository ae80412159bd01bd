/* SPDX-License-Identifier: MIT */
/*
 * Making a trace: rows are added in any order per track, sealed into sorted blocks when 65,536 have gathered, and
 * compressed; past `memory_limit_bytes` sealed blocks live in an unlinked spill file. One builder belongs to one thread at
 * a time; snapshots can be read by others while it goes on.
 */
#ifndef HP_TRACE_BUILDER_H
#define HP_TRACE_BUILDER_H

#include "trace.h"

struct trace_builder;

struct builder_options {
    size_t memory_limit_bytes;   /* of sealed blocks kept in memory; 0 = no limit */
    const char *spill_directory; /* NULL = $TMPDIR or /tmp */
};

int trace_builder_create(const struct builder_options *options, struct trace_builder **ret_builder, struct error *err);
void trace_builder_destroy(struct trace_builder *builder);
DEFINE_CLEANUP(struct trace_builder *, trace_builder_destroy)

/* All add functions return 0 or -ENOMEM/-EOVERFLOW/-EIO; the first failure sticks and is returned by finish, too, so a
 * caller that adds in a loop may check once. A row that can't be (end before begin, times beyond +-2^61 ns, a track, span
 * or frame that isn't there, a payload over 16 MiB) is -EINVAL: it is left out, and nothing sticks. Strings are interned
 * into the builder's table. */
struct string_table *trace_builder_strings(struct trace_builder *builder);
string_id trace_builder_string(struct trace_builder *builder, const char *text); /* STRING_NONE on failure, which sticks */

int trace_builder_add_node(struct trace_builder *builder, const struct trace_node *node, node_id *ret_id);
int trace_builder_add_process(struct trace_builder *builder, const struct trace_process *process, process_id *ret_id);
struct trace_process *trace_builder_process(struct trace_builder *builder, process_id id); /* to fill in later; valid until the next add */
int trace_builder_add_track(struct trace_builder *builder, const struct trace_track *track, track_id *ret_id);
struct trace_track *trace_builder_track(struct trace_builder *builder, track_id id);
int trace_builder_add_module(struct trace_builder *builder, const struct trace_module *module, module_id *ret_id);
int trace_builder_add_frame(struct trace_builder *builder, const struct trace_frame *frame, frame_id *ret_id); /* interned */
int trace_builder_add_stack(struct trace_builder *builder, stack_id parent, frame_id frame, stack_id *ret_id); /* interned */
/*
 * A span handle names a span while the trace is being built; links, members and parents are given as handles and become
 * span ids when the trace is finished (rows move when they are sorted). parent SPAN_NONE: found by nesting on the track.
 * payload may be NULL.
 */
int trace_builder_add_span(struct trace_builder *builder, const struct span *span, const struct payload *payload, span_id *ret_handle);
int trace_builder_add_sample(struct trace_builder *builder, track_id track, const struct sample *sample);
int trace_builder_add_instant(struct trace_builder *builder, track_id track, const struct instant *instant, const struct payload *payload);
int trace_builder_add_counter(struct trace_builder *builder, track_id track, const struct counter_value *value);
int trace_builder_add_link(struct trace_builder *builder, const struct trace_link *link);
int trace_builder_add_group(struct trace_builder *builder, const struct trace_group *group, group_id *ret_id);
int trace_builder_add_member(struct trace_builder *builder, const struct group_member *member);
int trace_builder_add_ledger(struct trace_builder *builder, const char *source, uint64_t seen, uint64_t recorded,
                             uint64_t lost, const char *reason); /* one row per (source, reason): numbers add up */
int trace_builder_set_metadata(struct trace_builder *builder, const char *key, const char *value);

/* What snapshots from now on say that threads are in (a copy is taken); a finished trace says nothing of it. 0 or -ENOMEM */
int trace_builder_set_open(struct trace_builder *builder, const struct open_call *calls, uint32_t count);
/* What has been added so far, for live views; incremental: sealed blocks are shared with earlier snapshots. */
int trace_builder_snapshot(struct trace_builder *builder, struct trace **ret_trace, struct error *err);
/* Seals, sorts, resolves handles and consumes the content: the builder is empty afterwards and can only be destroyed. */
int trace_builder_finish(struct trace_builder *builder, struct trace **ret_trace, struct error *err);

/* Writes a finished trace as a native file (docs/formats/native.md). */
struct progress;
int trace_write_native(const struct trace *trace, const char *path, const struct progress *progress, struct error *err);

/*
 * A native file that readers can follow while the trace grows (trace_open_native, trace_refresh): each append adds what a
 * snapshot has more than the one before it. At the end trace_write_native puts the finished trace in its place; if that
 * never comes, the file still opens. After a failed append the stream is of no more use.
 */
struct trace_stream;
int trace_stream_create(const char *path, struct trace_stream **ret_stream, struct error *err);
int trace_stream_append(struct trace_stream *stream, const struct trace *snapshot, struct error *err);
void trace_stream_destroy(struct trace_stream *stream);
DEFINE_CLEANUP(struct trace_stream *, trace_stream_destroy)

#endif
