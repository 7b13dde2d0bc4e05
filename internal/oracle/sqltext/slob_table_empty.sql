/* nfsbench slob_table_empty */
-- releases: all
TRUNCATE TABLE {{.Schema}}.{{.Table}}
