/* SPDX-License-Identifier: MIT */
/* What an OTF2 archive defines: strings, regions, the system tree, processes, locations, communicators. */
#if HP_HAVE_OTF2
#include "otf2_import.h"

#include "base/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static OTF2_CallbackCode code_of(struct otf2_import *import, int code)
{
    if (code < 0 && import->code == 0)
        import->code = code;
    return import->code ? OTF2_CALLBACK_INTERRUPT : OTF2_CALLBACK_SUCCESS;
}

string_id otf2_string(const struct otf2_import *import, uint64_t reference)
{
    uint64_t id;
    return map_get(&import->strings, reference, &id) ? (string_id){(uint32_t)id} : STRING_NONE;
}

struct otf2_location *otf2_location(struct otf2_import *import, uint64_t reference)
{
    uint64_t index;
    return map_get(&import->location_index, reference, &index) ? &import->locations[index] : NULL;
}

int32_t otf2_world_rank(const struct otf2_import *import, uint64_t comm, uint32_t rank)
{
    uint64_t group;
    if (!map_get(&import->comm_index, comm, &group) || !map_get(&import->group_index, group, &group))
        return -1;
    const struct otf2_group *members = &import->groups[group];
    return rank < members->count && members->members[rank] <= INT32_MAX ? (int32_t)members->members[rank] : -1;
}

/* --- kinds -------------------------------------------------------------------------------------------------------- */

static bool begins(const char *name, const char *with)
{
    return strncasecmp(name, with, strlen(with)) == 0;
}

/* What an MPI function's name says beside what its events do. */
static enum span_kind mpi_kind(const char *name)
{
    static const struct {
        const char *begin;
        enum span_kind kind;
    } kinds[] = {
        {"Wait", SPAN_KIND_WAIT},           {"Test", SPAN_KIND_TEST},       {"Probe", SPAN_KIND_PROBE},   {"Iprobe", SPAN_KIND_PROBE},
        {"Mprobe", SPAN_KIND_PROBE},        {"Init", SPAN_KIND_INIT},       {"Finalize", SPAN_KIND_INIT}, {"Send", SPAN_KIND_SEND},
        {"Isend", SPAN_KIND_SEND},          {"Bsend", SPAN_KIND_SEND},      {"Ssend", SPAN_KIND_SEND},    {"Rsend", SPAN_KIND_SEND},
        {"Ibsend", SPAN_KIND_SEND},         {"Issend", SPAN_KIND_SEND},     {"Irsend", SPAN_KIND_SEND},   {"Recv", SPAN_KIND_RECV},
        {"Irecv", SPAN_KIND_RECV},          {"Sendrecv", SPAN_KIND_RECV},   {"Put", SPAN_KIND_RMA},       {"Get", SPAN_KIND_RMA},
        {"Win_", SPAN_KIND_RMA},            {"Accumulate", SPAN_KIND_RMA},  {"File_", SPAN_KIND_IO},      {"Comm_", SPAN_KIND_COMM},
        {"Barrier", SPAN_KIND_COLLECTIVE},  {"Bcast", SPAN_KIND_COLLECTIVE}, {"Reduce", SPAN_KIND_COLLECTIVE},
        {"All", SPAN_KIND_COLLECTIVE},      {"Gather", SPAN_KIND_COLLECTIVE}, {"Scatter", SPAN_KIND_COLLECTIVE},
        {"Scan", SPAN_KIND_COLLECTIVE},     {"Exscan", SPAN_KIND_COLLECTIVE},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (begins(name, kinds[i].begin) && strncasecmp(name, "Get_", 4) != 0)
            return kinds[i].kind;
    return SPAN_KIND_API;
}

static enum span_kind role_kind(OTF2_RegionRole role)
{
    switch (role) {
    case OTF2_REGION_ROLE_PARALLEL: return SPAN_KIND_PARALLEL;
    case OTF2_REGION_ROLE_LOOP: return SPAN_KIND_LOOP;
    case OTF2_REGION_ROLE_SECTIONS: return SPAN_KIND_SECTIONS;
    case OTF2_REGION_ROLE_WORKSHARE: return SPAN_KIND_WORKSHARE;
    case OTF2_REGION_ROLE_SINGLE: return SPAN_KIND_SINGLE;
    case OTF2_REGION_ROLE_MASTER: return SPAN_KIND_MASKED;
    case OTF2_REGION_ROLE_CRITICAL: return SPAN_KIND_CRITICAL;
    case OTF2_REGION_ROLE_BARRIER:
    case OTF2_REGION_ROLE_IMPLICIT_BARRIER: return SPAN_KIND_BARRIER;
    case OTF2_REGION_ROLE_ORDERED: return SPAN_KIND_ORDERED;
    case OTF2_REGION_ROLE_TASK:
    case OTF2_REGION_ROLE_TASK_UNTIED: return SPAN_KIND_TASK;
    case OTF2_REGION_ROLE_TASK_CREATE: return SPAN_KIND_TASK_CREATE;
    case OTF2_REGION_ROLE_TASK_WAIT: return SPAN_KIND_TASKWAIT;
    case OTF2_REGION_ROLE_COLL_ONE2ALL:
    case OTF2_REGION_ROLE_COLL_ALL2ONE:
    case OTF2_REGION_ROLE_COLL_ALL2ALL:
    case OTF2_REGION_ROLE_COLL_OTHER: return SPAN_KIND_COLLECTIVE;
    case OTF2_REGION_ROLE_FILE_IO: return SPAN_KIND_IO;
    case OTF2_REGION_ROLE_RMA: return SPAN_KIND_RMA;
    case OTF2_REGION_ROLE_ALLOCATE:
    case OTF2_REGION_ROLE_DEALLOCATE:
    case OTF2_REGION_ROLE_REALLOCATE: return SPAN_KIND_ALLOC;
    default: return SPAN_KIND_RANGE;
    }
}

static const char *paradigm_category(OTF2_Paradigm paradigm)
{
    switch (paradigm) {
    case OTF2_PARADIGM_MPI: return "mpi";
    case OTF2_PARADIGM_OPENMP: return "openmp";
    case OTF2_PARADIGM_CUDA: return "cuda";
    case OTF2_PARADIGM_OPENCL: return "opencl";
    case OTF2_PARADIGM_HIP: return "rocm";
    default: return "user";
    }
}

/* --- definitions -------------------------------------------------------------------------------------------------- */

static OTF2_CallbackCode on_clock(void *state, uint64_t resolution, uint64_t offset, uint64_t length, uint64_t realtime)
{
    struct otf2_import *import = state;
    import->ticks_per_second = resolution;
    import->global_offset = offset;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_string(void *state, OTF2_StringRef self, const char *text)
{
    struct otf2_import *import = state;
    return code_of(import, map_set(&import->strings, self, trace_builder_string(import->builder, text).index));
}

static OTF2_CallbackCode on_node(void *state, OTF2_SystemTreeNodeRef self, OTF2_StringRef name, OTF2_StringRef kind, OTF2_SystemTreeNodeRef parent)
{
    struct otf2_import *import = state;
    return code_of(import, map_set(&import->node_index, self, otf2_string(import, name).index));
}

static OTF2_CallbackCode on_process(void *state, OTF2_LocationGroupRef self, OTF2_StringRef name, OTF2_LocationGroupType type,
                                    OTF2_SystemTreeNodeRef parent, OTF2_LocationGroupRef creator)
{
    struct otf2_import *import = state;
    struct otf2_process *processes = array_reserve(import->processes, &import->process_capacity, import->process_count + 1, sizeof *processes);
    if (!processes)
        return code_of(import, -ENOMEM);
    import->processes = processes;
    processes[import->process_count] = (struct otf2_process){.parent = parent, .rank = -1, .match = UINT32_MAX, .first_ns = INT64_MAX, .last_ns = INT64_MIN};
    return code_of(import, map_set(&import->process_index, self, import->process_count++));
}

static OTF2_CallbackCode on_location(void *state, OTF2_LocationRef self, OTF2_StringRef name, OTF2_LocationType type, uint64_t events,
                                     OTF2_LocationGroupRef group)
{
    struct otf2_import *import = state;
    uint64_t process;
    if (!map_get(&import->process_index, group, &process))
        return OTF2_CALLBACK_SUCCESS;
    struct otf2_location *locations = array_reserve(import->locations, &import->location_capacity, import->location_count + 1, sizeof *locations);
    if (!locations)
        return code_of(import, -ENOMEM);
    import->locations = locations;
    struct otf2_location *location = &locations[import->location_count];
    *location = (struct otf2_location){.process = (uint32_t)process};
    /* The track of a process that is made later: the builder takes them in order. */
    struct trace_track track = {.kind = type == OTF2_LOCATION_TYPE_CPU_THREAD ? TRACK_KIND_THREAD : TRACK_KIND_STREAM,
                                .name = otf2_string(import, name), .process = {(uint32_t)process}, .tid = -1, .device = -1, .stream = -1,
                                .start_ns = INT64_MIN, .end_ns = INT64_MIN};
    if (type == OTF2_LOCATION_TYPE_METRIC)
        track.kind = TRACK_KIND_PROCESS;
    int code = trace_builder_add_track(import->builder, &track, &location->track);
    if (code == 0)
        code = map_set(&import->location_index, self, import->location_count++);
    return code_of(import, code);
}

static OTF2_CallbackCode on_region(void *state, OTF2_RegionRef self, OTF2_StringRef name, OTF2_StringRef canonical, OTF2_StringRef description,
                                   OTF2_RegionRole role, OTF2_Paradigm paradigm, OTF2_RegionFlag flags, OTF2_StringRef file, uint32_t begin,
                                   uint32_t end)
{
    struct otf2_import *import = state;
    struct otf2_region *regions = array_reserve(import->regions, &import->region_capacity, import->region_count + 1, sizeof *regions);
    if (!regions)
        return code_of(import, -ENOMEM);
    import->regions = regions;
    string_id id = otf2_string(import, name);
    const char *text = string_table_text(trace_builder_strings(import->builder), id);
    bool mpi = text && begins(text, "MPI_"); /* not every recorder says the paradigm */
    enum span_kind kind = mpi ? mpi_kind(text + 4) : role_kind(role);
    const char *category = mpi ? "mpi" : paradigm_category(paradigm);
    regions[import->region_count] = (struct otf2_region){.name = id, .category = trace_builder_string(import->builder, category), .kind = kind};
    return code_of(import, map_set(&import->region_index, self, import->region_count++));
}

static OTF2_CallbackCode on_group(void *state, OTF2_GroupRef self, OTF2_StringRef name, OTF2_GroupType type, OTF2_Paradigm paradigm,
                                  OTF2_GroupFlag flags, uint32_t count, const uint64_t *members)
{
    struct otf2_import *import = state;
    bool world = type == OTF2_GROUP_TYPE_COMM_LOCATIONS;
    if (paradigm != OTF2_PARADIGM_MPI || (!world && type != OTF2_GROUP_TYPE_COMM_GROUP))
        return OTF2_CALLBACK_SUCCESS;
    struct otf2_group *groups = array_reserve(import->groups, &import->group_capacity, import->group_count + 1, sizeof *groups);
    uint64_t *copy = malloc((size_t)count * sizeof *copy + 1);
    if (groups)
        import->groups = groups;
    if (!groups || !copy) {
        free(copy);
        return code_of(import, -ENOMEM);
    }
    memcpy(copy, members, (size_t)count * sizeof *copy);
    groups[import->group_count] = (struct otf2_group){.members = copy, .count = count};
    if (world)
        import->world = (uint32_t)import->group_count++;
    else
        code_of(import, map_set(&import->group_index, self, import->group_count++));
    return code_of(import, 0);
}

static OTF2_CallbackCode on_comm(void *state, OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef group, OTF2_CommRef parent, OTF2_CommFlag flags)
{
    struct otf2_import *import = state;
    return code_of(import, map_set(&import->comm_index, self, group));
}

static OTF2_CallbackCode on_clock_offset(void *state, OTF2_TimeStamp time, int64_t offset, double deviation)
{
    struct otf2_import *import = ((void **)state)[0];
    return code_of(import, map_set(&import->clocked, *(uint64_t *)((void **)state)[1], 1));
}

/* Of each location: what its events' numbers mean, which the library applies by itself, and whether its clock was compared. */
static int read_local_definitions(struct otf2_import *import, OTF2_Reader *reader)
{
    OTF2_DefReaderCallbacks *callbacks = OTF2_DefReaderCallbacks_New();
    if (!callbacks)
        return -ENOMEM;
    OTF2_DefReaderCallbacks_SetClockOffsetCallback(callbacks, on_clock_offset);
    bool files = OTF2_Reader_OpenDefFiles(reader) == OTF2_SUCCESS;
    size_t position = 0;
    uint64_t location, index;
    while (files && map_next(&import->location_index, &position, &location, &index)) {
        OTF2_DefReader *definitions = OTF2_Reader_GetDefReader(reader, location);
        void *state[2] = {import, &location};
        uint64_t read;
        if (!definitions)
            continue;
        OTF2_Reader_RegisterDefCallbacks(reader, definitions, callbacks, state);
        OTF2_Reader_ReadAllLocalDefinitions(reader, definitions, &read);
        OTF2_Reader_CloseDefReader(reader, definitions);
    }
    if (files)
        OTF2_Reader_CloseDefFiles(reader);
    OTF2_DefReaderCallbacks_Delete(callbacks);
    return import->code;
}

int otf2_read_definitions(struct otf2_import *import, OTF2_Reader *reader)
{
    OTF2_GlobalDefReaderCallbacks *callbacks = OTF2_GlobalDefReaderCallbacks_New();
    OTF2_GlobalDefReader *definitions = OTF2_Reader_GetGlobalDefReader(reader);
    uint64_t read;
    if (!callbacks || !definitions) {
        OTF2_GlobalDefReaderCallbacks_Delete(callbacks);
        return -ENOENT;
    }
    OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(callbacks, on_clock);
    OTF2_GlobalDefReaderCallbacks_SetStringCallback(callbacks, on_string);
    OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeCallback(callbacks, on_node);
    OTF2_GlobalDefReaderCallbacks_SetLocationGroupCallback(callbacks, on_process);
    OTF2_GlobalDefReaderCallbacks_SetLocationCallback(callbacks, on_location);
    OTF2_GlobalDefReaderCallbacks_SetRegionCallback(callbacks, on_region);
    OTF2_GlobalDefReaderCallbacks_SetGroupCallback(callbacks, on_group);
    OTF2_GlobalDefReaderCallbacks_SetCommCallback(callbacks, on_comm);
    OTF2_ErrorCode status = OTF2_Reader_RegisterGlobalDefCallbacks(reader, definitions, callbacks, import);
    if (status == OTF2_SUCCESS)
        status = OTF2_Reader_ReadAllGlobalDefinitions(reader, definitions, &read);
    OTF2_GlobalDefReaderCallbacks_Delete(callbacks);
    OTF2_Reader_CloseGlobalDefReader(reader, definitions);
    if (import->code)
        return import->code;
    return status == OTF2_SUCCESS ? read_local_definitions(import, reader) : -EBADMSG;
}

/* --- places ------------------------------------------------------------------------------------------------------- */

static void give_ranks(struct otf2_import *import)
{
    if (import->world == ID_NONE)
        return;
    const struct otf2_group *world = &import->groups[import->world];
    for (uint32_t rank = 0; rank < world->count && rank <= INT32_MAX; rank++) {
        const struct otf2_location *location = otf2_location(import, world->members[rank]);
        if (location)
            import->processes[location->process].rank = (int32_t)rank;
    }
}

/* A recorder that never compared the clocks of its processes left each with a clock of its own. */
static int add_node(struct otf2_import *import, uint64_t parent, size_t process, node_id *ret_node)
{
    uint64_t name;
    char domain[48];
    bool compared = import->clocked.count > 0 || import->process_count < 2;
    snprintf(domain, sizeof domain, compared ? "otf2" : "otf2:%zu", process);
    struct trace_node node = {.name = map_get(&import->node_index, parent, &name) ? (string_id){(uint32_t)name} : STRING_NONE,
                              .clock_domain = trace_builder_string(import->builder, domain)};
    return trace_builder_add_node(import->builder, &node, ret_node);
}

int otf2_make_places(struct otf2_import *import)
{
    struct map nodes = {0};
    int code = 0;
    bool compared = import->clocked.count > 0;
    give_ranks(import);
    for (size_t i = 0; i < import->process_count && code == 0; i++) {
        struct otf2_process *process = &import->processes[i];
        node_id node = NODE_NONE;
        uint64_t known;
        if (compared && map_get(&nodes, process->parent, &known)) {
            node = (node_id){(uint32_t)known};
        } else {
            code = add_node(import, process->parent, i, &node);
            if (code == 0)
                code = map_set(&nodes, process->parent, node.index);
        }
        struct trace_process row = {.node = node, .pid = -1, .rank = process->rank, .end_ns = INT64_MIN, .parent = PROCESS_NONE,
                                    .command = STRING_NONE, .executable = STRING_NONE, .exit_status = -1, .reason = STRING_NONE};
        if (code == 0)
            code = trace_builder_add_process(import->builder, &row, &process->id);
        if (code == 0 && process->rank >= 0)
            code = message_match_add_process(import->match, process->rank, &process->match);
    }
    map_finish(&nodes);
    return code;
}
#else
typedef int otf2_is_not_built_in;
#endif
