/* nfsbench slob_random_read */
-- releases: all
SELECT /*+ INDEX(r nfsbench_ranges_custid) NO_PARALLEL(r) */
    COUNT(r.c2) AS found
FROM nfsbench_ranges r
WHERE r.custid BETWEEN :1 AND :2
