/* nfsbench slob_direct_read_true */
-- releases: all
ALTER SESSION SET "_serial_direct_read" = true
