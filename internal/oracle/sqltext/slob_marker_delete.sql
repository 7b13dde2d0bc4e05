/* nfsbench slob_marker_delete */
-- releases: all
BEGIN
    DELETE FROM {{.Schema}}.nfsbench_marker WHERE kind = :1;
    COMMIT;
END;
