/* The programs that come with strads, by name. */
#include "strads/program.h"

#include <string.h>

#include "strads/fm.h"
#include "strads/glm.h"
#include "strads/lasso.h"
#include "strads/lda.h"
#include "strads/logistic.h"
#include "strads/mf.h"
#include "strads/net.h"
#include "strads/network.h"
#include "strads/sgd_logistic.h"
#include "strads/svm.h"

const strads_program *strads_program_find(const char *name)
{
    static const strads_program *const built_in[] = {
        &strads_program_fm,
        &strads_program_glm,
        &strads_program_glm_columns,
        &strads_program_glm_path_columns,
        &strads_program_glm_path,
        &strads_program_lasso,
        &strads_program_lasso_columns,
        &strads_program_lasso_path_columns,
        &strads_program_lasso_path,
        &strads_program_lda,
        &strads_program_logistic,
        &strads_program_logistic_columns,
        &strads_program_logistic_path_columns,
        &strads_program_logistic_dual,
        &strads_program_logistic_path,
        &strads_program_mf,
        &strads_program_net,
        &strads_program_roles,
        &strads_program_sgd_logistic,
        &strads_program_svm,
        &strads_program_svm_l1};
    for (size_t k = 0; k < sizeof built_in / sizeof *built_in; k++)
        if (strcmp(built_in[k]->name, name) == 0)
            return built_in[k];
    return NULL;
}
