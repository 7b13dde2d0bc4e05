/* nfsbench slob_logging */
-- releases: all
-- Where redo is forced: in the whole database, in this pluggable one (of which 12.1 shows no
-- row here), or in the tablespace.
SELECT
    'V$DATABASE' AS place,
    d.force_logging,
    d.log_mode
FROM v$database d
UNION ALL
SELECT
    'DBA_PDBS' AS place,
    p.force_logging,
    NULL AS log_mode
FROM dba_pdbs p
WHERE p.pdb_name = SYS_CONTEXT('USERENV', 'CON_NAME')
UNION ALL
SELECT
    'DBA_TABLESPACES' AS place,
    t.force_logging,
    NULL AS log_mode
FROM dba_tablespaces t
WHERE t.tablespace_name = :1
