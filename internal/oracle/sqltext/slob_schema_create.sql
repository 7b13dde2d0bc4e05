/* nfsbench slob_schema_create */
-- releases: all
CREATE USER {{.Schema}} IDENTIFIED BY {{.Password}}
DEFAULT TABLESPACE {{.Tablespace}}
QUOTA UNLIMITED ON {{.Tablespace}}
