/* nfsbench slob_segment */
-- releases: all
SELECT
    bytes,
    blocks
FROM dba_segments
WHERE
    owner = :1
    AND segment_name = :2
