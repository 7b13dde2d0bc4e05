/* nfsbench slob_direct_read_always */
-- releases: all
-- Scans then read past the buffer cache, whatever the size of the table.
ALTER SESSION SET "_serial_direct_read" = always
