/* nfsbench datafiles */
-- releases: all
SELECT
    'Data File' AS filetype_name,
    d.file# AS file_no,
    d.name,
    d.bytes
FROM v$datafile d
UNION ALL
SELECT
    'Temp File' AS filetype_name,
    t.file# AS file_no,
    t.name,
    t.bytes
FROM v$tempfile t
ORDER BY 1, 2
