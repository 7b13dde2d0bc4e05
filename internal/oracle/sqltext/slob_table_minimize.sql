/* nfsbench slob_table_minimize */
-- releases: all
-- With one row in it: no block may then hold more than the fullest does now.
ALTER TABLE {{.Schema}}.{{.Table}} MINIMIZE RECORDS_PER_BLOCK
