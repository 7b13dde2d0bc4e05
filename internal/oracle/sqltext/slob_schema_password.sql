/* nfsbench slob_schema_password */
-- releases: all
ALTER USER {{.Schema}} IDENTIFIED BY {{.Password}} ACCOUNT UNLOCK
