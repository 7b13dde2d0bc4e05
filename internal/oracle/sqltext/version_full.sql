/* nfsbench version_full */
-- releases: from 19
SELECT banner_full
FROM v$version
