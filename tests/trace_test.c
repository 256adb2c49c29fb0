/* Traces are read back with jansson. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine/base/trace.h"
#include "tests/expect.h"

static char folder[64];
static char path[96];

static void make_folder(void)
{
    strcpy(folder, "/tmp/strads-trace-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/trace.json", folder);
}

static void remove_folder(void)
{
    (void)remove(path);
    (void)rmdir(folder);
}

static sti_trace *start(void)
{
    sti_trace *trace = NULL;
    expect_ok(sti_trace_open(path, &trace));
    return trace;
}

/* Closes a trace and reads its events. */
static json_t *finish(sti_trace *trace)
{
    expect_ok(sti_trace_close(trace));
    json_t *root = expect_trace(path);
    json_t *events = json_incref(json_object_get(root, "traceEvents"));
    json_decref(root);
    return events;
}

/* The n-th event of a kind. */
static json_t *nth(json_t *events, const char *kind, size_t n)
{
    for (size_t k = 0; k < json_array_size(events); k++) {
        json_t *event = json_array_get(events, k);
        if (!strcmp(trace_text(event, "ph"), kind) && n-- == 0)
            return event;
    }
    return NULL;
}

static const char *name_in(const json_t *event)
{
    return trace_text(json_object_get(event, "args"), "name");
}

Test(trace, a_span_keeps_its_nanoseconds_and_its_round, .init = make_folder,
     .fini = remove_folder)
{
    sti_trace *trace = start();
    uint32_t track = sti_trace_track(trace, 3, "worker 1");
    sti_trace_span(trace, track, "update", 1000000007, 1000002010, 42);
    json_t *events = finish(trace);
    json_t *span = nth(events, "X", 0);
    cr_assert_not_null(span);
    cr_assert_str_eq(trace_text(span, "name"), "update");
    cr_assert_eq(json_integer_value(json_object_get(span, "pid")), 3);
    cr_assert_float_eq(json_real_value(json_object_get(span, "ts")),
                       1000000.007, 1e-9);
    cr_assert_float_eq(json_real_value(json_object_get(span, "dur")), 2.003,
                       1e-12);
    json_t *args = json_object_get(span, "args");
    cr_assert_eq(json_integer_value(json_object_get(args, "round")), 42);
    json_decref(events);
}

Test(trace, tracks_and_nodes_bear_their_names, .init = make_folder,
     .fini = remove_folder)
{
    sti_trace *trace = start();
    uint32_t first = sti_trace_track(trace, 0, "coordinator");
    uint32_t second = sti_trace_track(trace, 0, "a \"b\" \\ \n");
    cr_assert_neq(first, second);
    json_t *events = finish(trace);
    cr_assert_str_eq(trace_text(nth(events, "M", 0), "name"), "process_name");
    cr_assert_str_eq(name_in(nth(events, "M", 0)), "node 0");
    cr_assert_str_eq(name_in(nth(events, "M", 1)), "coordinator");
    cr_assert_str_eq(name_in(nth(events, "M", 3)), "a \"b\" \\ \n");
    cr_assert_null(nth(events, "M", 5), "a node is named once");
    json_decref(events);
}

Test(trace, a_trace_without_spans_is_whole, .init = make_folder,
     .fini = remove_folder)
{
    json_t *events = finish(start());
    cr_assert_eq(json_array_size(events), 0);
    json_decref(events);
}

Test(trace, the_file_appears_when_the_trace_is_closed, .init = make_folder,
     .fini = remove_folder)
{
    sti_trace *trace = start();
    cr_assert_neq(access(path, F_OK), 0);
    json_decref(finish(trace));
    cr_assert_eq(access(path, F_OK), 0);
}

Test(trace, no_trace_takes_every_call)
{
    cr_assert_eq(sti_trace_track(NULL, 0, "x"), STI_TRACE_NONE);
    sti_trace_span(NULL, STI_TRACE_NONE, "x", 0, 1, 2);
    cr_assert_eq(sti_trace_close(NULL), STRADS_OK);
}

Test(trace, a_span_that_ends_before_it_begins_has_no_length,
     .init = make_folder, .fini = remove_folder)
{
    sti_trace *trace = start();
    sti_trace_span(trace, sti_trace_track(trace, 0, "t"), "x", 10, 5, 0);
    sti_trace_span(trace, STI_TRACE_NONE, "dropped", 1, 2, 0);
    json_t *events = finish(trace);
    json_t *span = nth(events, "X", 0);
    cr_assert_eq(json_real_value(json_object_get(span, "dur")), 0.0);
    cr_assert_null(nth(events, "X", 1));
    json_decref(events);
}

Test(trace, a_folder_that_is_not_there_is_an_error)
{
    sti_trace *trace = NULL;
    cr_assert_eq(sti_trace_open("/nonexistent/trace.json", &trace), STRADS_EIO);
    cr_assert_null(trace);
}

Test(trace, events_that_could_not_be_written_are_an_error_at_the_end,
     .init = make_folder, .fini = remove_folder)
{
    sti_trace *trace = start();
    uint32_t track = sti_trace_track(trace, 0, "t");
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit small = {.rlim_cur = 4096, .rlim_max = 4096};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (uint64_t k = 0; k < 1000; k++)
        sti_trace_span(trace, track, "x", k, k + 1, k);
    cr_assert_eq(sti_trace_close(trace), STRADS_EIO);
    cr_assert_neq(access(path, F_OK), 0, "half a trace was left behind");
}
