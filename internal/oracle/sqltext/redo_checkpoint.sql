/* nfsbench redo_checkpoint */
-- releases: all
-- So that recovery needs no group but the current one.
ALTER SYSTEM CHECKPOINT
