/* nfsbench redo_switch */
-- releases: all
-- So that another group is the current one.
ALTER SYSTEM SWITCH LOGFILE
