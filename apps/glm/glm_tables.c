/* Losses and penalties by name. */
#include <string.h>

#include "glm_loss.h"
#include "glm_penalty.h"

#define ROW_OF_LOSS(word, name) {word, &glm_loss_##name},
#define ROW_OF_PENALTY(word, name) {word, &glm_penalty_##name},

const glm_loss *glm_loss_find(const char *name)
{
    static const struct {
        const char *word;
        const glm_loss *loss;
    } table[] = {GLM_LOSSES(ROW_OF_LOSS)};

    for (size_t k = 0; k < sizeof(table) / sizeof(table[0]); k++)
        if (!name || !*name || strcmp(name, table[k].word) == 0)
            return table[k].loss;
    return NULL;
}

const glm_penalty *glm_penalty_find(const char *name)
{
    static const struct {
        const char *word;
        const glm_penalty *penalty;
    } table[] = {GLM_PENALTIES(ROW_OF_PENALTY)};

    for (size_t k = 0; k < sizeof(table) / sizeof(table[0]); k++)
        if (!name || !*name || strcmp(name, table[k].word) == 0)
            return table[k].penalty;
    return NULL;
}
