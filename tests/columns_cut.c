/* Data for fits by columns, as declared in columns_cut.h. */
#include "tests/columns_cut.h"

#include "data_oracle.h"
#include "strads/pack.h"
#include "tests/expect.h"

strads_data *columns_cut_data(const lasso_design *d, strads_split split,
                              const columns_cut *cut)
{
    strads_data *data = NULL;
    const strads_data_options whole = {.size = sizeof whole};
    const strads_data_options parts = {.size = sizeof parts,
                                       .partitions = cut->partitions,
                                       .split = split,
                                       .packed = cut->packed};
    const char *path = oracle_path("columns.pack");
    expect_ok(lasso_design_cut(d, cut->packed ? &whole : &parts, &data));
    if (!cut->packed)
        return data;
    expect_ok(strads_pack_write(data, path, NULL, NULL));
    strads_data_free(data);
    expect_ok(strads_data_read(path, &parts, &data));
    return data;
}
