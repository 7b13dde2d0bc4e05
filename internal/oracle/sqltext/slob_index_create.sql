/* nfsbench slob_index_create */
-- releases: all
CREATE UNIQUE INDEX {{.Schema}}.nfsbench_ranges_custid
ON {{.Schema}}.nfsbench_ranges (custid)
PCTFREE 0
NOLOGGING
TABLESPACE {{.Tablespace}}
