/* engine/run/data_part.h - a data set of rows that are spread over nodes. */
#ifndef STI_DATA_PART_H
#define STI_DATA_PART_H

#include "engine/net/mesh.h"
#include "strads/data.h"

/* Partition assignment: node n has partitions first[n] .. first[n + 1] - 1. */
typedef struct sti_spread {
    sti_mesh *mesh;
    uint32_t nodes;
    const uint32_t *first; /* [nodes + 1] */
} sti_spread;

/* Implements strads_data_from_part, after all nodes have joined. */
strads_err sti_data_part(const sti_spread *spread, const strads_arrays *part,
                         const strads_data_options *options, strads_data **out);

#endif
