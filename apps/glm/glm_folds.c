/* The folds of a cross-validation: which rows they hold out, and the errors
 * that fits without them have there. */
#include <math.h>
#include <stdlib.h>

#include <strads/policy.h>

#include "glm_parts.h"

/* Names the random stream that assigns rows to folds. */
enum { DEAL = 0x666f6c64 };

/* Moves the rows from `begin` on with the same label as the first one next
 * to it; returns the end of that run. There are few labels. */
static uint64_t gather_label(uint64_t *line, const double *label,
                             uint64_t begin, uint64_t rows)
{
    uint64_t end = begin + 1;

    for (uint64_t i = end; i < rows; i++)
        if (label[line[i]] == label[line[begin]]) {
            const uint64_t kept = line[i];
            line[i] = line[end];
            line[end++] = kept;
        }
    return end;
}

/* 0, 1, ..., folds - 1, 0, 1, ... shuffled (Fisher and Yates); of classes
 * label by label, so that each fold has about its share of each. */
strads_err glm_folds_deal(glm_folds *f, const double *label, uint64_t seed)
{
    uint64_t *line = f->given ? NULL : calloc(f->rows + 1, sizeof(*line));

    if (f->given)
        return STRADS_OK;
    if (!line)
        return strads_fail(STRADS_ENOMEM, "no memory to deal the folds");
    for (uint64_t i = 0; i < f->rows; i++)
        line[i] = i;
    for (uint64_t begin = 0, end; begin < f->rows; begin = end) {
        end = f->classes ? gather_label(line, label, begin, f->rows) : f->rows;
        for (uint64_t i = begin; i < end; i++)
            f->of[line[i]] = (uint32_t)(i % f->n);
        for (uint64_t i = end; i > begin + 1; i--) {
            const uint64_t k =
                begin + strads_random_bits(seed, DEAL, 0, i) % (i - begin);
            const uint32_t kept = f->of[line[i - 1]];
            f->of[line[i - 1]] = f->of[line[k]];
            f->of[line[k]] = kept;
        }
    }
    free(line);
    return STRADS_OK;
}

/* Reads the assignment from a file, and determines the number of folds. */
static strads_err read_folds(glm_folds *f, const char *file)
{
    static const linear_lines lines = {.option = "--fold-file",
                                       .what = "the fold of a row",
                                       .of = "rows"};
    double *number = calloc(f->rows + 1, sizeof(*number));
    strads_err err =
        number ? linear_read_lines(&lines, file, &(strads_range){0, f->rows},
                                   f->rows, number)
               : strads_fail(STRADS_ENOMEM, "no memory to read the folds");
    uint32_t folds = 0;

    for (uint64_t i = 0; i < f->rows && !err; i++) {
        const double fold = number[i];
        if (!(fold >= 1 && fold <= (double)f->rows && fold == floor(fold)))
            err = strads_fail(STRADS_EFORMAT,
                              "%s:%llu: the fold is %g; expected a whole "
                              "number from 1 to %llu at most",
                              file, (unsigned long long)i + 1, fold,
                              (unsigned long long)f->rows);
        f->of[i] = err ? 0 : (uint32_t)fold - 1;
        folds = f->of[i] >= folds ? f->of[i] + 1 : folds;
    }
    free(number);
    if (!err && folds < 2)
        err = strads_fail(STRADS_EFORMAT,
                          "%s: all rows are of one fold; expected two at least",
                          file);
    f->n = folds;
    return err;
}

strads_err glm_folds_new(const glm_folds_plan *plan, glm_folds *out)
{
    glm_folds f = {.n = plan->folds ? plan->folds : GLM_FOLDS,
                   .points = plan->points,
                   .rows = plan->rows,
                   .given = plan->file,
                   .classes = plan->classes};
    strads_err err = STRADS_OK;

    if (!plan->file && (f.n < 2 || f.n > f.rows))
        return strads_fail(STRADS_EINVAL,
                           "%u folds of %llu rows; expected at least 2, and a "
                           "row in each",
                           f.n, (unsigned long long)f.rows);
    f.of = calloc(f.rows + 1, sizeof(*f.of));
    if (!f.of)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the folds of %llu rows",
                           (unsigned long long)f.rows);
    if (plan->file)
        err = read_folds(&f, plan->file);
    if (!err) {
        const size_t marks = (size_t)f.n * f.points;
        f.size = calloc(f.n, sizeof(*f.size));
        f.error = calloc(marks + 1, sizeof(*f.error));
        f.right = calloc(marks + 1, sizeof(*f.right));
        f.gap = calloc(marks + 1, sizeof(*f.gap));
        if (!f.size || !f.error || !f.right || !f.gap)
            err = strads_fail(STRADS_ENOMEM,
                              "no memory for the errors of %u folds", f.n);
    }
    if (err) {
        glm_folds_free(&f);
        return err;
    }
    *out = f;
    return STRADS_OK;
}

void glm_folds_free(glm_folds *f)
{
    free(f->of);
    free(f->size);
    free(f->error);
    free(f->right);
    free(f->gap);
    *f = (glm_folds){0};
}

void glm_folds_weigh(glm_folds *f, const double *count)
{
    for (uint64_t i = 0; i < f->rows; i++)
        f->size[f->of[i]] += count[i];
    for (uint32_t k = 0; k < f->n; k++)
        f->all += f->size[k];
}

void glm_folds_sum_up(const glm_folds *f, const double *lambda,
                      strads_cv_point *points, uint32_t *best,
                      uint32_t *simplest)
{
    const uint32_t n = f->points;
    uint32_t weighty = 0;

    for (uint32_t k = 0; k < f->n; k++)
        weighty += f->size[k] > 0;
    *best = 0;
    for (uint32_t k = 0; k < n; k++) {
        double mean = 0, spread = 0, right = 0, gap = 0;
        for (uint32_t g = 0; g < f->n; g++)
            mean += f->size[g] / f->all * f->error[(size_t)g * n + k];
        for (uint32_t g = 0; g < f->n; g++) {
            const double d = f->error[(size_t)g * n + k] - mean;
            spread += f->size[g] / f->all * d * d;
            right += f->right[(size_t)g * n + k];
            const double own = f->gap[(size_t)g * n + k];
            gap = isnan(own) ? INFINITY : fmax(gap, own);
        }
        points[k] =
            (strads_cv_point){.lambda = lambda[k],
                              .error = mean,
                              .deviation = sqrt(spread / fmax(weighty - 1., 1)),
                              .accuracy = f->classes ? right / f->all : NAN,
                              .gap = gap};
        if (mean < points[*best].error)
            *best = k;
    }
    *simplest = 0;
    while (points[*simplest].error >
           points[*best].error + points[*best].deviation)
        ++*simplest;
}
