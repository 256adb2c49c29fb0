#include "cli_number_search.h"

#include "cli.h"
#include "cli_options.h"
#include "cli_output.h"

strads_err cli_number_try(cli_number_search *s, uint32_t number)
{
    const strads_engine_options one = {.size = sizeof one,
                                       .partitions = 1,
                                       .workers = 1,
                                       .seed = s->engine->seed,
                                       .memory = s->engine->memory,
                                       .stop = s->engine->stop};
    strads_lda_options options = s->options;
    strads_result *result = NULL;
    strads_lda_model *model = NULL;
    cli_trial now = {.number = number};
    const double from = cli_now();

    options.topics = number;
    strads_err err = strads_run(s->program, &options, s->data, &one, &result);
    s->stopped = s->engine->stop && *s->engine->stop;
    if (!err && !s->stopped)
        err = strads_lda_model_from_result(result, &model);
    if (!err && !s->stopped)
        err = s->judge(s->state, model, &now);
    now.seconds = cli_now() - from;
    if (!err && !s->stopped)
        s->trial[s->trials++] = now;
    strads_lda_model_free(model);
    strads_result_free(result);
    return s->stopped ? STRADS_OK : err;
}

strads_err cli_number_choose(cli_number_search *s)
{
    double number = s->first;
    for (uint32_t worse = 0; worse < 2 && s->trials < CLI_TRIALS &&
                             number <= s->last && !s->stopped;
         number *= s->growth) {
        const uint32_t now = s->trials;
        CLI_TRY(cli_number_try(s, (uint32_t)(number + .5)));
        const bool better =
            now == 0 || s->trial[now].score > s->trial[s->best].score + s->gain;
        s->best = better ? now : s->best;
        worse = better ? 0 : worse + 1;
    }
    s->chosen = s->trials > 0 ? s->trial[s->best].number : s->first;
    return STRADS_OK;
}

void cli_number_log(const cli_number_search *s, cli_log *log)
{
    for (uint32_t k = 0; k < s->trials; k++) {
        const cli_trial *x = &s->trial[k];
        cli_json j = cli_log_line(log, "trial");
        cli_json_count(&j, s->unit, x->number);
        for (int i = 0; i < CLI_TRIAL_MEASURES && s->measure[i]; i++)
            cli_json_number(&j, s->measure[i], x->measure[i]);
        cli_json_number(&j, "seconds", x->seconds);
        cli_json_raw(&j, "chosen", x->number == s->chosen ? "true" : "false");
        cli_log_end_line(log, &j);
    }
}
