/* nfsbench slob_marker_write */
-- releases: all
BEGIN
    INSERT INTO {{.Schema}}.nfsbench_marker (
        kind, model, scale_bytes, row_count, block_size, obfuscated, tablespace_name, tablespace_made
    )
    VALUES (:1, :2, :3, :4, :5, :6, :7, :8);
    COMMIT;
END;
