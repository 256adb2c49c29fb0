/* Plans of runs: read before the data, which are cut by them. */
#include "cli_plan.h"

#include "cli_options.h"

strads_err cli_plan_take(const strads_program *program,
                         strads_engine_options *engine, strads_plan **plan)
{
    if (!engine->plan) {
        return STRADS_OK;
    }
    strads_err err = strads_plan_read(engine->plan, plan);
    if (!err) {
        err = cli_option_refuse(program, "plan");
    }
    if (!err && engine->partitions == 0) {
        engine->partitions = (*plan)->partitions;
    }
    engine->plan_given = *plan;
    return err;
}
