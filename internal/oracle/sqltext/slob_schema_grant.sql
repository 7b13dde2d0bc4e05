/* nfsbench slob_schema_grant */
-- releases: all
-- The tables are made for it, so it needs no more than this.
GRANT CREATE SESSION TO {{.Schema}}
