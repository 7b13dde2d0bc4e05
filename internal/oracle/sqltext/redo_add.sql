/* nfsbench redo_add */
-- releases: all
ALTER DATABASE ADD LOGFILE GROUP {{.Group}} ({{.File}}) SIZE {{.Megabytes}}M REUSE
