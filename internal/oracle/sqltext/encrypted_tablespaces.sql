/* nfsbench encrypted_tablespaces */
-- releases: all
SELECT COUNT(*) AS tablespaces
FROM v$encrypted_tablespaces
WHERE encryptedts = 'YES'
