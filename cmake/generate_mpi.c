/* SPDX-License-Identifier: MIT */
/*
 * Makes the wrappers of the MPI collector from src/collect/mpi/wrappers.def, at build time, on the build's machine:
 *
 *     generate_mpi wrappers.def FOLDER
 *
 * writes mpi_calls.h (an enumerator for each function), mpi_wrappers.c (the wrappers and the table of them, for each MPI) and
 * mpi_front_table.c (the exported names with their trampolines, for the front).
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 1024
#define PARAMETERS_MAX 24
#define LINES_MAX 6

struct parameter {
    char role[24], name[32];
};
struct call {
    char name[48], family[32], word[2][32];
    struct parameter parameters[PARAMETERS_MAX];
    unsigned parameter_count;
};
struct family {
    char name[32];
    char before[LINES_MAX][256], after[LINES_MAX][256];
    unsigned before_count, after_count;
};

static struct call calls[768];
static struct family families[128];
static unsigned call_count, family_count, line_number;
static const char *source;

/* What a role is in C: the type stands left of the name, brackets right of it. */
static const struct {
    const char *role, *left, *right;
} roles[] = {
    {"buf", "void *", ""},
    {"cbuf", "const void *", ""},
    {"int", "int ", ""},
    {"int*", "int *", ""},
    {"ints", "int ", "[]"},
    {"cints", "const int ", "[]"},
    {"flag", "int *", ""},
    {"index", "int *", ""},
    {"indices", "int ", "[]"},
    {"errcodes", "int ", "[]"},
    {"logical", "int ", ""},
    {"clogicals", "const int ", "[]"},
    {"weights", "const int ", "[]"},
    {"argc", "int *", ""},
    {"argv", "char ***", ""},
    {"string", "const char *", ""},
    {"cstring", "char *", ""},
    {"strings", "char *", "[]"},
    {"stringss", "char **", "[]"},
    {"pbuf", "void *", ""},
    {"rank", "int ", ""},
    {"tag", "int ", ""},
    {"aint", "MPI_Aint ", ""},
    {"aint*", "MPI_Aint *", ""},
    {"caints", "const MPI_Aint ", "[]"},
    {"offset", "MPI_Offset ", ""},
    {"type", "MPI_Datatype ", ""},
    {"ctypes", "const MPI_Datatype ", "[]"},
    {"op", "MPI_Op ", ""},
    {"comm", "MPI_Comm ", ""},
    {"comm*", "MPI_Comm *", ""},
    {"group", "MPI_Group ", ""},
    {"info", "MPI_Info ", ""},
    {"cinfos", "const MPI_Info ", "[]"},
    {"request", "MPI_Request ", ""},
    {"request*", "MPI_Request *", ""},
    {"requests", "MPI_Request ", "[]"},
    {"status", "MPI_Status *", ""},
    {"statuses", "MPI_Status ", "[]"},
    {"message*", "MPI_Message *", ""},
    {"win", "MPI_Win ", ""},
    {"win*", "MPI_Win *", ""},
    {"file", "MPI_File ", ""},
    {"file*", "MPI_File *", ""},
};

static _Noreturn void fail(const char *what, const char *word)
{
    fprintf(stderr, "%s:%u: %s%s%s\n", source, line_number, what, word ? ": " : "", word ? word : "");
    exit(1);
}

static char *skip_blanks(char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

/* Copies the next word to `out` and returns what is behind it; NULL where there is none. */
static char *take_word(char *at, char *out, size_t size)
{
    at = skip_blanks(at);
    size_t length = strcspn(at, " \t,|");
    if (length == 0)
        return NULL;
    if (length >= size)
        fail("too long a word", at);
    memcpy(out, at, length);
    out[length] = '\0';
    return at + length;
}

static const char *left_of(const char *role, const char **ret_right)
{
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
        if (strcmp(roles[i].role, role) == 0) {
            *ret_right = roles[i].right;
            return roles[i].left;
        }
    fail("unknown role", role);
}

static void parse_parameters(struct call *call, char *at)
{
    const char *right;
    while (*(at = skip_blanks(at))) {
        if (call->parameter_count == PARAMETERS_MAX)
            fail("too many parameters", call->name);
        struct parameter *parameter = &call->parameters[call->parameter_count++];
        if (!(at = take_word(at, parameter->role, sizeof(parameter->role))) ||
            !(at = take_word(at, parameter->name, sizeof(parameter->name))))
            fail("a parameter is `role name`", call->name);
        left_of(parameter->role, &right);
        at = skip_blanks(at);
        if (*at == ',')
            at++;
    }
}

/* MPI_Send | send WORD_STANDARD | cbuf buf, int count, ... */
static void parse_call(char *line)
{
    if (call_count == sizeof(calls) / sizeof(calls[0]))
        fail("too many functions", NULL);
    struct call *call = &calls[call_count++];
    char *at = take_word(line, call->name, sizeof(call->name));
    if (!at || *(at = skip_blanks(at)) != '|')
        fail("expected `name | family words | parameters`", line);
    if (!(at = take_word(at + 1, call->family, sizeof(call->family))))
        fail("no family", call->name);
    for (unsigned i = 0; i < 2 && *skip_blanks(at) != '|'; i++)
        if (!(at = take_word(at, call->word[i], sizeof(call->word[i]))))
            fail("expected `|` behind the family", call->name);
    at = skip_blanks(at);
    if (*at != '|')
        fail("expected `|` behind the family", call->name);
    parse_parameters(call, at + 1);
}

/* "family NAME", then lines "  before CODE" and "  after CODE". */
static void parse_family(char *line)
{
    if (strncmp(line, "family ", 7) == 0) {
        if (family_count == sizeof(families) / sizeof(families[0]))
            fail("too many families", NULL);
        struct family *family = &families[family_count++];
        if (!take_word(line + 7, family->name, sizeof(family->name)))
            fail("no name", line);
        return;
    }
    struct family *family = family_count ? &families[family_count - 1] : NULL;
    char *at = skip_blanks(line);
    bool before = strncmp(at, "before ", 7) == 0;
    if (!family || (!before && strncmp(at, "after ", 6) != 0))
        fail("expected `before` or `after`", line);
    unsigned *count = before ? &family->before_count : &family->after_count;
    if (*count == LINES_MAX)
        fail("too many lines in a family", family->name);
    at = skip_blanks(at + (before ? 7 : 6));
    if (strlen(at) >= sizeof(family->before[0]))
        fail("too long a line", at);
    strcpy(before ? family->before[(*count)++] : family->after[(*count)++], at);
}

static void parse(FILE *file)
{
    char line[LINE_MAX_BYTES];
    bool comment = false;
    while (fgets(line, sizeof(line), file)) {
        line_number++;
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "/*", 2) == 0)
            comment = true;
        bool skip = comment || !*skip_blanks(line);
        if (comment && strstr(line, "*/"))
            comment = false;
        if (skip)
            continue;
        if (line[0] == ' ' || strncmp(line, "family ", 7) == 0)
            parse_family(line);
        else
            parse_call(line);
    }
}

static const struct family *family_of(const struct call *call)
{
    for (unsigned i = 0; i < family_count; i++)
        if (strcmp(families[i].name, call->family) == 0)
            return &families[i];
    fail("unknown family", call->family);
}

static FILE *create(const char *folder, const char *name, const char *purpose)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *out = fopen(path, "w");
    if (!out) {
        perror(path);
        exit(1);
    }
    fprintf(out, "/* SPDX-License-Identifier: MIT */\n/* %s Made by generate_mpi from wrappers.def. */\n", purpose);
    return out;
}

static void finish(FILE *out)
{
    if (ferror(out) || fclose(out) != 0) {
        perror("generate_mpi");
        exit(1);
    }
}

static void write_calls(const char *folder)
{
    FILE *out = create(folder, "mpi_calls.h", "A number for each wrapped function.");
    fprintf(out, "#ifndef HP_MPI_CALLS_H\n#define HP_MPI_CALLS_H\n\nenum mpi_call_number {\n");
    for (unsigned i = 0; i < call_count; i++)
        fprintf(out, "    CALL_%s,\n", calls[i].name);
    fprintf(out, "    CALL_COUNT\n};\n\n#endif\n");
    finish(out);
}

/* The family's code with $1 and $2 replaced by the words of the call and $call by its number. */
static void write_code(FILE *out, const char *code, const struct call *call)
{
    fprintf(out, "    ");
    for (; *code; code++) {
        if (strncmp(code, "$call", 5) == 0) {
            fprintf(out, "CALL_%s", call->name);
            code += 4;
        } else if (*code == '$' && (code[1] == '1' || code[1] == '2')) {
            const char *word = call->word[*++code - '1'];
            if (!*word)
                fail("the family needs another word", call->name);
            fputs(word, out);
        } else {
            fputc(*code, out);
        }
    }
    fputc('\n', out);
}

static void write_arguments(FILE *out, const struct call *call)
{
    for (unsigned i = 0; i < call->parameter_count; i++)
        fprintf(out, "%s%s", i ? ", " : "", call->parameters[i].name);
}

static void write_parameters(FILE *out, const struct call *call)
{
    const char *right;
    for (unsigned i = 0; i < call->parameter_count; i++) {
        const char *left = left_of(call->parameters[i].role, &right);
        fprintf(out, "%s%s%s%s", i ? ", " : "", left, call->parameters[i].name, right);
    }
    if (call->parameter_count == 0)
        fprintf(out, "void");
}

static void write_wrapper(FILE *out, const struct call *call)
{
    const struct family *family = family_of(call);
    fprintf(out, "\nint wrap_%s(", call->name);
    write_parameters(out, call);
    fprintf(out, ")\n{\n    struct mpi_call call = mpi_enter(CALL_%s);\n    if (!call.outer)\n        return REAL(%s)(", call->name, call->name);
    write_arguments(out, call);
    fprintf(out, ");\n");
    for (unsigned i = 0; i < family->before_count; i++)
        write_code(out, family->before[i], call);
    fprintf(out, "    int result = REAL(%s)(", call->name);
    write_arguments(out, call);
    fprintf(out, ");\n");
    for (unsigned i = 0; i < family->after_count; i++)
        write_code(out, family->after[i], call);
    fprintf(out, "    return mpi_leave(result);\n}\n");
}

static void write_wrappers(const char *folder)
{
    FILE *out = create(folder, "mpi_wrappers.c", "The wrapper of each function.");
    fprintf(out, "#include \"mpi_collector.h\"\n#include \"mpi_table.h\"\n");
    for (unsigned i = 0; i < call_count; i++) {
        fprintf(out, "\nint wrap_%s(", calls[i].name);
        write_parameters(out, &calls[i]);
        fprintf(out, ");");
    }
    fprintf(out, "\n\n#define REAL(name) ((__typeof__(&wrap_##name))mpi_real[CALL_##name])\n");
    for (unsigned i = 0; i < call_count; i++)
        write_wrapper(out, &calls[i]);
    fprintf(out, "\n/* In the order of enum mpi_call_number. */\nconst struct mpi_entry mpi_entries[CALL_COUNT] = {\n");
    for (unsigned i = 0; i < call_count; i++)
        fprintf(out, "    {\"P%s\", (void *)wrap_%s},\n", calls[i].name, calls[i].name);
    fprintf(out, "};\n");
    finish(out);
}

/* First all names, then all of them with the P before. */
static void write_front(const char *folder)
{
    FILE *out = create(folder, "mpi_front_table.c", "The exported names: each jumps through its slot.");
    fprintf(out, "#include \"front.h\"\n\n__asm__(FRONT_BEGIN\n");
    for (unsigned i = 0; i < 2 * call_count; i++)
        fprintf(out, "    FRONT_TRAMPOLINE(\"%s%s\", \"%u\")\n", i < call_count ? "" : "P", calls[i % call_count].name, i);
    fprintf(out, "    FRONT_END);\n\n");
    for (unsigned i = 0; i < 2 * call_count; i++)
        fprintf(out, "extern const char front_first_%u[] __attribute__((visibility(\"hidden\")));\n", i);
    fprintf(out, "\nconst char *const front_names[] = {\n");
    for (unsigned i = 0; i < call_count; i++)
        fprintf(out, "    \"P%s\",\n", calls[i].name);
    fprintf(out, "};\n\nconst void *front_slots[] = {\n");
    for (unsigned i = 0; i < 2 * call_count; i++)
        fprintf(out, "    front_first_%u,\n", i);
    fprintf(out, "};\n\nconst unsigned front_count = %u;\n", call_count);
    finish(out);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: generate_mpi wrappers.def FOLDER\n");
        return 2;
    }
    source = argv[1];
    FILE *file = fopen(source, "r");
    if (!file) {
        perror(source);
        return 1;
    }
    parse(file);
    fclose(file);
    write_calls(argv[2]);
    write_wrappers(argv[2]);
    write_front(argv[2]);
    return 0;
}
