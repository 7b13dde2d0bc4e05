/* nfsbench slob_full_scan */
-- releases: all
SELECT /*+ FULL(s) NO_PARALLEL(s) */
    COUNT(s.c2) AS found
FROM nfsbench_scan s
