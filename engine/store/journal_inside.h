/* journal_inside.h - a journal in a directory: what its files share.
 *
 * It owns the directory (by its lock, as long as it is open), the log's
 * descriptor, and where the log ends. Invariants: the log's bytes up to
 * `durable` have reached the disk, those up to `end` are whole records, and
 * nothing lies behind them; the log goes with the checkpoint that is there, but
 * between the two renames of a new checkpoint. A journal whose files are not
 * known to be so any more is `broken`, and is not written to. */
#ifndef STI_JOURNAL_INSIDE_H
#define STI_JOURNAL_INSIDE_H

#include "engine/base/atomic_file.h"
#include "engine/store/journal_format.h"

typedef struct sti_files_journal {
    sti_journal journal;
    sti_journal_options options;
    char *directory, *log_path, *checkpoint_path;
    int folder, log; /* descriptors, or -1 */
    sti_journal_stand stand;
    uint64_t end, durable; /* of the log */
    bool recovered, broken;
} sti_files_journal;

/* journal_files.c: sentences about errno. */
strads_err sti_files_failed(const char *path, const char *what);
/* From here on nobody knows what the files hold. */
strads_err sti_files_broke(sti_files_journal *j, const char *path,
                           const char *what);
/* Whether it takes anything. */
strads_err sti_files_check(const sti_files_journal *j);

/* journal_write.c: slots of sti_journal_ops. */
strads_err sti_files_append(sti_journal *journal,
                            const sti_journal_record *records, size_t n);
strads_err sti_files_sync(sti_journal *journal);
strads_err sti_files_checkpoint(sti_journal *journal, sti_journal_state *state,
                                void *arg);
/* A log without records, on the disk but not yet in its place. */
strads_err sti_files_prepare_log(const sti_files_journal *j,
                                 uint64_t generation, sti_atomic_file *file);
/* Puts a prepared log into its place, and writes to it from now on. */
strads_err sti_files_start_log(sti_files_journal *j, sti_atomic_file *file);

/* journal_recover.c: another slot. */
strads_err sti_files_recover(sti_journal *journal,
                             const sti_journal_reader *reader);

#endif
