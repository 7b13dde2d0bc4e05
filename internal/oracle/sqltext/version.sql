/* nfsbench version */
-- releases: all
SELECT banner
FROM v$version
