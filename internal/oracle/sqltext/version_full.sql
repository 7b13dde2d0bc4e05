/* nfsbench version_full */
-- releases: from 18
SELECT banner_full
FROM v$version
