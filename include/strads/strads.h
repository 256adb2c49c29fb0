/* strads/strads.h - includes the whole public interface except the built-in
 * programs, each of which has a header of its own. */
#ifndef STRADS_STRADS_H
#define STRADS_STRADS_H

#include "strads/arrow.h"
#include "strads/data.h"
#include "strads/engine.h"
#include "strads/error.h"
#include "strads/model.h"
#include "strads/names.h"
#include "strads/options.h"
#include "strads/plan.h"
#include "strads/policy.h"
#include "strads/program.h"
#include "strads/store.h"
#include "strads/version.h"

#endif
