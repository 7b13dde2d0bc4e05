/* nfsbench slob_table_create */
-- releases: all
-- With NOLOGGING the load writes no redo: what is lost is loaded again. Updates write redo.
CREATE TABLE {{.Schema}}.{{.Table}} (
    custid NUMBER(15) NOT NULL,
    c2 VARCHAR2(128),
    c3 VARCHAR2(128),
    c4 VARCHAR2(128),
    c5 VARCHAR2(128),
    c6 VARCHAR2(128),
    c7 VARCHAR2(128),
    c8 VARCHAR2(128),
    c9 VARCHAR2(128),
    c10 VARCHAR2(128),
    c11 VARCHAR2(128),
    c12 VARCHAR2(128),
    c13 VARCHAR2(128),
    c14 VARCHAR2(128),
    c15 VARCHAR2(128),
    c16 VARCHAR2(128),
    c17 VARCHAR2(128),
    c18 VARCHAR2(128),
    c19 VARCHAR2(128),
    c20 VARCHAR2(128)
)
PCTFREE 99
NOLOGGING
TABLESPACE {{.Tablespace}}
