/* nfsbench redo_drop */
-- releases: all
ALTER DATABASE DROP LOGFILE GROUP {{.Group}}
