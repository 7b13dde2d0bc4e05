/* nfsbench slob_tablespace_drop */
-- releases: all
DROP TABLESPACE {{.Tablespace}} INCLUDING CONTENTS AND DATAFILES
