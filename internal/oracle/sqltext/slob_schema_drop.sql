/* nfsbench slob_schema_drop */
-- releases: all
DROP USER {{.Schema}} CASCADE
