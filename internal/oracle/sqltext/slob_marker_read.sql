/* nfsbench slob_marker_read */
-- releases: all
SELECT
    kind,
    model,
    scale_bytes,
    row_count,
    block_size,
    obfuscated,
    tablespace_name,
    tablespace_made
FROM {{.Schema}}.nfsbench_marker
ORDER BY kind
