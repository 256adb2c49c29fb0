/* See expect.h. */
#include "tests/expect.h"

#include "tests/toy_data.h"

json_t *expect_trace(const char *path)
{
    json_error_t error;
    json_t *trace = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    cr_assert_not_null(trace, "%s, line %d: %s", path, error.line, error.text);
    cr_assert(json_is_array(json_object_get(trace, "traceEvents")));
    return trace;
}

const char *trace_text(const json_t *event, const char *key)
{
    return json_string_value(json_object_get(event, key));
}

size_t trace_spans(const json_t *trace, const char *word, double shortest,
                   trace_span *out, size_t capacity)
{
    size_t n = 0, k;
    const json_t *event;
    json_array_foreach(json_object_get(trace, "traceEvents"), k, event)
    {
        const json_t *args = json_object_get(event, "args");
        const double time = json_number_value(json_object_get(event, "dur"));
        trace_span s = {.name = trace_text(event, "name")};
        if (strcmp(trace_text(event, "ph"), "X") != 0 ||
            strncmp(s.name, word, strlen(word)) != 0 || time < shortest ||
            n == capacity)
            continue;
        s.begin = json_number_value(json_object_get(event, "ts"));
        s.end = s.begin + time;
        s.node = (int)json_integer_value(json_object_get(event, "pid"));
        s.round = (int)json_integer_value(json_object_get(args, "round"));
        out[n++] = s;
    }
    return n;
}

strads_result *expect_team(const team *t)
{
    team_end end[TEAM_MAX];
    strads_result *result;
    team_run(t, &result, end);
    for (uint32_t k = 0; k < t->nodes; k++)
        cr_assert_eq(end[k].err, STRADS_OK, "%s, node %u: %s", t->program->name,
                     k, end[k].text);
    cr_assert_not_null(result);
    return result;
}

strads_result *expect_run(const strads_program *program, const void *config,
                          strads_engine_options options)
{
    const toy_run run = {.program = program,
                         .config = config,
                         .options = options};
    strads_result *result = NULL;
    cr_assert_eq(toy_run_it(&run, &result), STRADS_OK, "%s, %u workers: %s",
                 program->name, options.workers, strads_error_text());
    return result;
}
