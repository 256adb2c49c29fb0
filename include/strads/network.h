/* strads/network.h - the roles of a network's nodes, a built-in program.
 *
 * Latent Dirichlet allocation (strads/lda.h) on the network's double cover: a
 * node is a document and a word, each link u - v a token v in document u and a
 * token u in document v. The sampler draws from
 *
 *     p(z_uv | rest) ~ (n_uk + alpha_k) (m_vk + beta) / (m_k + N beta)
 *
 * with n_uk the tokens of document u in role k and m_vk the tokens v in role k.
 * The model is a strads_lda_model. Its words are the nodes and its counts are
 * c_uk = n_uk + m_uk, both ends of all links. See docs/roles.md. */
#ifndef STRADS_NETWORK_H
#define STRADS_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "strads/data.h"
#include "strads/error.h"
#include "strads/lda.h"
#include "strads/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The program: name "roles", a network (STRADS_KIND_GRAPH). `config` points to
 * strads_lda_options; `from` and `keep_assignments` are for LDA only. A link of
 * weight w counts as w links. Start from a copy of
 * strads_program_roles.defaults. */
extern STRADS_API const strads_program strads_program_roles;

/* Returns whether a run with this seed holds out the link u - v. The answer is
 * the same for v - u and independent of partitions. Any thread. */
STRADS_API bool strads_roles_is_held(uint64_t seed, double hold_out, uint32_t u,
                                     uint32_t v);

/* Computes a score of a link for each pair u[i] - v[i] of the model's nodes:
 * the mean over both directions of
 *
 *     sum_k theta_uk phi_vk d_u,   theta_uk = (c_uk + alpha_k) / (sum c_u + A),
 *                                  phi_vk = (c_vk + beta) / (sum c_k + N beta),
 *
 * with d_u = sum_k c_uk / 2 the node's links, into out[n]. STRADS_EINVAL: a
 * node that is not in the model. STRADS_ENOMEM. Any thread. */
STRADS_API strads_err strads_roles_score(const strads_lda_model *model,
                                         uint64_t n, const uint32_t *u,
                                         const uint32_t *v, double *out);

/* ---- groups of nodes, which may overlap -------------------------------- */

/* Group g has the nodes member[start[g]] .. member[start[g + 1] - 1], each
 * once, ascending. */
typedef struct strads_groups {
    uint32_t n;
    uint64_t *start; /* [n + 1] */
    uint32_t *member;
} strads_groups;

STRADS_API void strads_groups_free(strads_groups *groups);

/* Finds the members of each role: nodes with more than `share` of their links
 * in it, c_uk > share x sum_k c_uk. STRADS_ENOMEM. Any thread. */
STRADS_API strads_err strads_roles_members(const strads_lda_model *model,
                                           double share, strads_groups *out);

/* Reads groups from a file of lines `node group group ...`, plain, gzip or
 * zstd. Nodes are names, or numbers from 1 if `names` is NULL; groups are any
 * words. Unknown nodes are dropped and counted in *unknown. STRADS_EIO,
 * STRADS_EFORMAT, STRADS_ENOMEM. */
STRADS_API strads_err strads_groups_read(const char *path, uint64_t nodes,
                                         const strads_names *names,
                                         strads_groups *out, uint64_t *unknown);

/* Computes the normalised mutual information of two covers of `nodes` nodes, 0
 * to 1, for overlapping groups (Lancichinetti, Fortunato and Kertesz, New J.
 * Phys. 11, 2009, appendix B). Groups of no node or of all nodes carry no
 * information and are excluded; 0 if no others remain. STRADS_ENOMEM. Any
 * thread. */
STRADS_API strads_err strads_groups_nmi(uint64_t nodes, const strads_groups *a,
                                        const strads_groups *b, double *out);

/* ---- prediction of links ------------------------------------------------- */

/* Computes two measures of n scores. The area under the ROC curve is the
 * probability that the score of a link (is_link) is above that of a pair
 * without a link, ties counting half; NaN unless both kinds exist. The average
 * precision is the sum over thresholds of precision x the increase of recall;
 * equal scores are one threshold. STRADS_ENOMEM. Any thread. */
STRADS_API strads_err strads_ranking_auc(uint64_t n, const double *score,
                                         const bool *is_link, double *auc,
                                         double *average_precision);

typedef struct strads_roles_links {
    uint64_t links;    /* held-out links; both nodes have training links */
    uint64_t left_out; /* the other held-out links */
    double auc, average_precision, common_neighbours_auc;
} strads_roles_links;

/* Measures how well scores separate held-out links from an equal number of
 * pairs without a link, drawn by `seed`: scores of the model, and the number of
 * common neighbours. `graph` and `held` have rows, one partition, and the
 * model's numbers. held NULL: the links of `graph` that strads_roles_is_held
 * selects. STRADS_EINVAL: no held-out links; another number of nodes; data by
 * column. STRADS_ENOMEM. */
STRADS_API strads_err strads_roles_judge(const strads_lda_model *model,
                                         const strads_data *graph,
                                         const strads_data *held, uint64_t seed,
                                         double hold_out,
                                         strads_roles_links *out);

#ifdef __cplusplus
}
#endif

#endif
