/* strads/network.h - the roles of a network's nodes, a built-in program.
 *
 * Latent Dirichlet allocation (strads/lda.h) on the network's double cover: a
 * node is a document and a word, each link u - v a token v in document u and a
 * token u in document v, and what is sampled is
 *
 *     p(z_uv | rest) ~ (n_uk + alpha_k) (m_vk + beta) / (m_k + N beta)
 *
 * with n_uk of u's own tokens in role k, m_vk of all tokens that are v. The
 * model is a strads_lda_model whose words are the nodes and whose counts are
 * c_uk = n_uk + m_uk, both ends of all links. docs/roles.md. */
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

/* The program: name "roles", a network (STRADS_KIND_GRAPH), `config` points to
 * strads_lda_options, of which `from` and `keep_assignments` are LDA's alone.
 * Weights of links count as so many links. Who sets some of it begins with a
 * copy of strads_program_roles.defaults. */
extern STRADS_API const strads_program strads_program_roles;

/* Whether a run with this seed holds the link u - v out: the same for v - u,
 * whatever the partitions. Any thread. */
STRADS_API bool strads_roles_is_held(uint64_t seed, double hold_out, uint32_t u,
                                     uint32_t v);

/* How much a link is to be expected between each pair u[i] - v[i], nodes of the
 * model: the mean of both directions of
 *
 *     sum_k theta_uk phi_vk d_u,   theta_uk = (c_uk + alpha_k) / (sum c_u + A),
 *                                  phi_vk = (c_vk + beta) / (sum c_k + N beta),
 *
 * d_u = sum_k c_uk / 2 the node's links. out [n]. STRADS_EINVAL: a node that the
 * model does not have. STRADS_ENOMEM. Any thread. */
STRADS_API strads_err strads_roles_score(const strads_lda_model *model,
                                         uint64_t n, const uint32_t *u,
                                         const uint32_t *v, double *out);

/* ---- groups of nodes, which may overlap -------------------------------- */

/* Group g has the nodes member[start[g]] .. member[start[g + 1] - 1], each once,
 * ascending. */
typedef struct strads_groups {
    uint32_t n;
    uint64_t *start; /* [n + 1] */
    uint32_t *member;
} strads_groups;

STRADS_API void strads_groups_free(strads_groups *groups);

/* The members of each role: nodes that have more than that share of their links
 * in it, c_uk > share x sum_k c_uk. STRADS_ENOMEM. Any thread. */
STRADS_API strads_err strads_roles_members(const strads_lda_model *model,
                                           double share, strads_groups *out);

/* Reads groups from a file of lines `node group group ...`, plain, gzip or zstd;
 * nodes are names, or numbers from 1 where `names` is NULL; groups are any
 * words. Nodes that are not there, or not below `nodes`, are left out and
 * counted in *unknown. STRADS_EIO, STRADS_EFORMAT, STRADS_ENOMEM. */
STRADS_API strads_err strads_groups_read(const char *path, uint64_t nodes,
                                         const strads_names *names,
                                         strads_groups *out, uint64_t *unknown);

/* The normalised mutual information of two covers of so many nodes, 0 to 1, as
 * Lancichinetti, Fortunato and Kertesz define it for groups that overlap (New J.
 * Phys. 11, 2009, appendix B). Groups of no node or all nodes say nothing and
 * are left out; 0 where no others are there. STRADS_ENOMEM. Any thread. */
STRADS_API strads_err strads_groups_nmi(uint64_t nodes, const strads_groups *a,
                                        const strads_groups *b, double *out);

/* ---- links that are to be predicted ------------------------------------- */

/* The area under the ROC curve of n scores: the probability that one of a link
 * (is_link) is above one of a pair without, half where they are equal; NaN where
 * there are not both. And the average precision: the sum over thresholds of
 * precision x the rise of recall, equal scores being one threshold.
 * STRADS_ENOMEM. Any thread. */
STRADS_API strads_err strads_ranking_auc(uint64_t n, const double *score,
                                         const bool *is_link, double *auc,
                                         double *average_precision);

typedef struct strads_roles_links {
    uint64_t links;    /* held out, with both nodes in links trained on */
    uint64_t left_out; /* held out, the others */
    double auc, average_precision, common_neighbours_auc;
} strads_roles_links;

/* How well held-out links are told from as many pairs of nodes that have none,
 * drawn by `seed`: by the model, and by how many neighbours a pair shares.
 * `graph` and `held` are kept by row, in one part, with the model's numbers.
 * held NULL: those of `graph` that strads_roles_is_held names. STRADS_EINVAL:
 * there are none; another number of nodes; data by column. STRADS_ENOMEM. */
STRADS_API strads_err strads_roles_judge(const strads_lda_model *model,
                                         const strads_data *graph,
                                         const strads_data *held, uint64_t seed,
                                         double hold_out,
                                         strads_roles_links *out);

#ifdef __cplusplus
}
#endif

#endif
