/* nfsbench undo_resize */
-- releases: all
ALTER DATABASE DATAFILE {{.File}} RESIZE {{.Megabytes}}M
