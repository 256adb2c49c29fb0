/* engine/run/plan_json.h - plans as JSON, in files and in the terms of a
 * run. */
#ifndef STI_PLAN_JSON_H
#define STI_PLAN_JSON_H

#include <jansson.h>

#include "strads/plan.h"

/* A new reference; NULL: no memory. */
json_t *sti_plan_json(const strads_plan *plan);

/* STRADS_EFORMAT, STRADS_EINVAL, STRADS_ENOMEM. Error messages start with
 * `where`. */
strads_err sti_plan_from_json(const json_t *json, const char *where,
                              strads_plan **out);

#endif
