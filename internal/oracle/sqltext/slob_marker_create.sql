/* nfsbench slob_marker_create */
-- releases: all
CREATE TABLE {{.Schema}}.nfsbench_marker (
    kind VARCHAR2(30) NOT NULL,
    model NUMBER(10) NOT NULL,
    scale_bytes NUMBER(19) NOT NULL,
    row_count NUMBER(15) NOT NULL,
    block_size NUMBER(10) NOT NULL,
    obfuscated NUMBER(1) NOT NULL,
    tablespace_name VARCHAR2(128) NOT NULL,
    tablespace_made NUMBER(1) NOT NULL
)
TABLESPACE {{.Tablespace}}
