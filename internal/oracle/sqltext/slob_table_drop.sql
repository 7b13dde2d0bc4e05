/* nfsbench slob_table_drop */
-- releases: all
DROP TABLE {{.Schema}}.{{.Table}} PURGE
