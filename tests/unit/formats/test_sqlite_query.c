/* SPDX-License-Identifier: MIT */
/* SQL over a trace: every table and column, constraints that are handed down, and what is refused. */
#include "base/error.h"
#include "base/text.h"
#include "formats/sqlite_query.h"
#include "random_trace.h"
#include "small_trace.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct trace *trace;
static struct text result;

static int collect_columns(void *context, const char *const *names, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        text_addf(&result, "%s%s", i ? "," : "", names[i]);
    text_add_char(&result, '\n');
    return 0;
}

static int collect_row(void *context, const struct query_value *values, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (i)
            text_add_char(&result, ',');
        if (values[i].type == QUERY_INTEGER)
            text_addf(&result, "%lld", (long long)values[i].integer);
        else if (values[i].type == QUERY_REAL)
            text_addf(&result, "%g", values[i].real);
        else if (values[i].type == QUERY_TEXT)
            text_add(&result, values[i].text, values[i].size);
    }
    text_add_char(&result, '\n');
    return 0;
}

static int run(const struct trace *of, const char *sql, struct error *err)
{
    const struct query_output output = {collect_columns, collect_row, NULL};
    text_clear(&result);
    return query_run(of, sql, &output, err);
}

static void expect(const char *sql, const char *expected)
{
    struct error err = ERROR_INIT;
    if (run(trace, sql, &err) < 0)
        print_message("%s\n", err.text);
    assert_int_equal(err.code, 0);
    assert_string_equal(result.data, expected);
}

static int make(void **state)
{
    trace = small_trace_make();
    return trace ? 0 : -1;
}

static int unmake(void **state)
{
    trace_unref(trace);
    text_finish(&result);
    return 0;
}

static void test_every_table_has_its_columns(void **state)
{
    expect("SELECT * FROM tracks", "id,kind,name,node,rank,pid,tid,device,stream,process\n0,thread,main,host,,100,100,,,0\n"
                                   "1,thread,worker, \"1\",host,,100,101,,,0\n2,counter,rss,host,,100,,,,0\n");
    expect("SELECT * FROM spans", "id,track,begin_ns,end_ns,name,category,parent,correlation,kind,args,stack\n"
                                  "0,0,500,4500,outer,user,,,range,,\n1,0,1000,2000,inner,user,0,,unknown,{\"i\":1},1\n"
                                  "2,1,1500,,job,,1,9,fault,{\"address\":4096,\"major\":1},\n");
    expect("SELECT * FROM samples", "track,time_ns,stack,weight,cpu,event,flags\n0,1000,1,100,0,cpu-clock,0\n0,2000,2,200,1,cpu-clock,0\n"
                                    "0,3000,2,300,,cpu-clock,1\n0,3500,0,5000,0,switch,0\n");
    expect("SELECT * FROM frames WHERE stack = 2", "stack,depth,name,module,file,line,inlined\n2,0,sin,/lib/libm.so.6,,,0\n"
                                                   "2,1,work,/bin/demo,demo.c,20,0\n2,2,main,/bin/demo,demo.c,10,0\n");
    expect("SELECT * FROM counters", "track,time_ns,name,value,unit\n2,0,rss,1024,By\n2,2500,rss,1.5,By\n");
    expect("SELECT * FROM links", "kind,from_span,to_span,confidence\nfork,1,2,certain\n");
    expect("SELECT * FROM ledger", "source,seen,recorded,lost,reason\ncpu samples,5,4,1,ring full\n");
    expect("SELECT * FROM metadata", "key,value\ncommand,demo\n");
    expect("SELECT * FROM instants", "track,time_ns,name,category,args\n1,1700,tick,,\n");
    expect("SELECT id, node, pid, start_ns, parent, generation, command, exit_status, clock_domain, attached, reason FROM processes",
           "id,node,pid,start_ns,parent,generation,command,exit_status,clock_domain,attached,reason\n0,host,100,0,,0,demo,0,boot:1,0,\n");
    expect("SELECT * FROM groups", "id,kind,name,sequence\n0,barrier,b,7\n");
    expect("SELECT * FROM members", "group,span,rank\n0,2,3\n");
}

static void test_an_exit_status_is_as_a_shell_has_it(void **state)
{
    const int32_t statuses[] = {3 << 8, 9, -1};
    struct trace_builder *builder;
    assert_int_equal(trace_builder_create(&(struct builder_options){0}, &builder, NULL), 0);
    for (int32_t i = 0; i < 3; i++) {
        struct trace_process process = {.node = NODE_NONE, .pid = i, .rank = -1, .parent = PROCESS_NONE, .exit_status = statuses[i]};
        process_id id;
        assert_int_equal(trace_builder_add_process(builder, &process, &id), 0);
    }
    struct trace *before = trace;
    assert_int_equal(trace_builder_finish(builder, &trace, NULL), 0);
    trace_builder_destroy(builder);
    expect("SELECT pid, exit_status FROM processes", "pid,exit_status\n0,3\n1,137\n2,\n");
    trace_unref(trace);
    trace = before;
}

static void test_joins_and_aggregates(void **state)
{
    expect("SELECT f.name, sum(s.weight) AS self_ns FROM samples s JOIN frames f ON f.stack = s.stack AND f.depth = 0 "
           "WHERE s.event = 'cpu-clock' GROUP BY 1 ORDER BY 2 DESC", "name,self_ns\nsin,500\nwork,100\n");
    expect("SELECT json_extract(args, '$.i') AS i FROM spans WHERE args IS NOT NULL AND name = 'inner'", "i\n1\n");
    expect("WITH RECURSIVE up(id) AS (VALUES(2) UNION ALL SELECT parent FROM spans, up USING (id) WHERE parent IS NOT NULL) "
           "SELECT count(*) AS n FROM up", "n\n3\n");
    expect("SELECT count(*) AS n FROM spans WHERE id = 1 AND track = 0 AND begin_ns >= 1000 AND begin_ns < 1001", "n\n1\n");
    expect("SELECT count(*) AS n FROM spans WHERE id = -1 OR id = 99999999999", "n\n0\n");
    expect("SELECT count(*) AS n FROM spans WHERE id = 'x' OR track = NULL", "n\n0\n");
    expect("SELECT count(*) AS n FROM spans WHERE id = NULL", "n\n0\n");
    expect("SELECT count(*) AS n, count(p.id) AS inside FROM spans s LEFT JOIN spans p ON p.id = s.parent", "n,inside\n3,2\n");
}

/* Blocks and rows that are passed over by a constraint are the same that the test row by row leaves out. */
static void test_constraints_change_nothing_but_speed(void **state)
{
    static const char *const tables[][2] = {{"spans", "begin_ns"}, {"samples", "time_ns"}, {"instants", "time_ns"}, {"counters", "time_ns"}};
    static const char *const operators[] = {"=", "<", "<=", ">", ">="};
    struct trace *big = random_trace_make(11, 3000, 2000);
    struct error err = ERROR_INIT;
    struct random random = {1};
    for (unsigned i = 0; i < 200; i++) {
        const char *const *table = tables[i % 4];
        const char *operator = operators[i % 5];
        long long time_ns = (long long)random_below(&random, 6000000) - 1000000, track = (long long)random_below(&random, 8);
        char fast[256], slow[256];
        const char *const form = "SELECT count(*), sum(%s%s) FROM %s WHERE %s%s %s %lld AND %strack = %lld AND %s%s < %lld";
        snprintf(fast, sizeof(fast), form, "", table[1], table[0], "", table[1], operator, time_ns, "", track, "", table[1], time_ns + 400000);
        snprintf(slow, sizeof(slow), form, "+", table[1], table[0], "+", table[1], operator, time_ns, "+", track, "+", table[1], time_ns + 400000);
        assert_int_equal(run(big, fast, &err), 0);
        char *first = strdup(strchr(result.data, '\n'));
        assert_int_equal(run(big, slow, &err), 0);
        assert_string_equal(first, strchr(result.data, '\n'));
        free(first);
    }
    trace_unref(big);
}

/* Row after row by its id: of the block that is held, of another, and of one that is not there. */
static void test_ids_find_their_rows_in_any_order(void **state)
{
    struct trace *big = random_trace_make(12, 20000, 10);
    struct error err = ERROR_INIT;
    const char *const form = "WITH RECURSIVE step(n) AS (VALUES(0) UNION ALL SELECT n + 1 FROM step WHERE n < 999) "
                             "SELECT count(*) AS n, sum(spans.id) AS sum FROM step JOIN spans ON %sspans.id = n * 37 %% 20100";
    char fast[256], slow[256];
    snprintf(fast, sizeof(fast), form, "");
    snprintf(slow, sizeof(slow), form, "+");
    assert_int_equal(run(big, fast, &err), 0);
    char *first = strdup(result.data);
    assert_int_equal(run(big, slow, &err), 0);
    assert_string_equal(first, result.data);
    free(first);
    trace_unref(big);
}

static void test_only_reading_is_possible(void **state)
{
    static const char *const refused[] = {
        "DELETE FROM spans", "CREATE TABLE t(a)", "ATTACH '/tmp/x' AS x", "PRAGMA writable_schema = 1", "UPDATE spans SET name = 'x'",
        "SELECT load_extension('/tmp/x.so')", "CREATE TEMP TABLE t AS SELECT * FROM spans", "VACUUM INTO '/tmp/hp-x'", "BEGIN",
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct error err = ERROR_INIT;
        assert_true(run(trace, refused[i], &err) < 0);
        assert_true(err.text[0]);
    }
    struct error err = ERROR_INIT;
    assert_int_equal(run(trace, "SELECT nowhere FROM spans", &err), -EINVAL);
    assert_non_null(strstr(err.text, "no such column: nowhere"));
    assert_int_equal(run(trace, "SELECT 1; SELECT 2", &err), -EINVAL);
    assert_int_equal(run(trace, "", &err), -EINVAL);
    assert_int_equal(run(trace, "SELEC 1", &err), -EINVAL);
}

static void test_summaries_agree_with_the_tables(void **state)
{
    struct error err = ERROR_INIT;
    unsigned count = 0;
    for (const char *summary; (summary = query_table_summary(count)); count++) {
        char sql[600];
        const char *open = strchr(summary, '(');
        snprintf(sql, sizeof(sql), "SELECT group_concat(iif(name = 'group', '\"group\"', name), ', ') FROM pragma_table_info('%.*s')",
                 (int)(open - summary), summary);
        assert_int_equal(run(trace, sql, &err), 0);
        char *columns = strchr(result.data, '\n') + 1;
        columns[strlen(columns) - 1] = 0;
        char wanted[600];
        snprintf(wanted, sizeof(wanted), "%s", open + 1);
        wanted[strlen(wanted) - 1] = 0;
        assert_string_equal(columns, wanted);
    }
    assert_int_equal(count, 12);
}

int main(void)
{
    if (!query_table_summary(0))
        return 77; /* built without SQLite */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_table_has_its_columns, make, unmake),
        cmocka_unit_test_setup_teardown(test_an_exit_status_is_as_a_shell_has_it, make, unmake),
        cmocka_unit_test_setup_teardown(test_joins_and_aggregates, make, unmake),
        cmocka_unit_test_setup_teardown(test_ids_find_their_rows_in_any_order, make, unmake),
        cmocka_unit_test_setup_teardown(test_constraints_change_nothing_but_speed, make, unmake),
        cmocka_unit_test_setup_teardown(test_only_reading_is_possible, make, unmake),
        cmocka_unit_test_setup_teardown(test_summaries_agree_with_the_tables, make, unmake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
