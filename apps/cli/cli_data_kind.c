#include "cli_data_kind.h"

#include <string.h>

strads_err cli_data_kind_find(const char *name, strads_kind *kind)
{
    static const char *const names[] = {
        [STRADS_KIND_SAMPLES] = "samples",
        [STRADS_KIND_CORPUS] = "corpus",
        [STRADS_KIND_TEXT] = "text",
        [STRADS_KIND_RATINGS] = "ratings",
        [STRADS_KIND_DOCUMENTS] = "documents",
    };
    for (size_t k = 0; name && k < sizeof names / sizeof *names; k++) {
        if (strcmp(name, names[k]) == 0) {
            *kind = (strads_kind)k;
            return STRADS_OK;
        }
    }
    return name ? strads_fail(
                      STRADS_EINVAL,
                      "--kind %s: expected samples, corpus, text, documents "
                      "or ratings",
                      name)
                : STRADS_OK;
}
