/* nfsbench container_name */
-- releases: all
SELECT
    SYS_CONTEXT('USERENV', 'CON_NAME') AS con_name,
    SYS_CONTEXT('USERENV', 'ISDBA') AS is_dba,
    cdb
FROM v$database
