/* nfsbench slob_random_read */
-- releases: all
-- Without the hint about batches Oracle reads the rows of a range in batches, and only a part
-- of them waits for db file sequential read.
SELECT /*+ INDEX(r nfsbench_ranges_custid) NO_BATCH_TABLE_ACCESS_BY_ROWID(r) NO_PARALLEL(r) */
    COUNT(r.c2) AS found
FROM nfsbench_ranges r
WHERE r.custid BETWEEN :1 AND :2
