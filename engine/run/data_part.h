/* engine/run/data_part.h - a data set whose rows are spread over the nodes. */
#ifndef STI_DATA_PART_H
#define STI_DATA_PART_H

#include "engine/net/mesh.h"
#include "strads/data.h"

/* Who keeps which partitions: node n those from first[n] up to first[n + 1]. */
typedef struct sti_spread {
    sti_mesh *mesh;
    uint32_t nodes;
    const uint32_t *first; /* [nodes + 1] */
} sti_spread;

/* strads_data_from_part, once all nodes are together. */
strads_err sti_data_part(const sti_spread *spread, const strads_arrays *part,
                         const strads_data_options *options, strads_data **out);

#endif
