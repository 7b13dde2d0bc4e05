/* nfsbench slob_update_lite */
-- releases: all
-- What to write, twice, then the first and the last key.
BEGIN
    UPDATE /*+ INDEX(r nfsbench_ranges_custid) */ nfsbench_ranges r
    SET
        r.c2 = :1,
        r.c20 = :2
    WHERE r.custid BETWEEN :3 AND :4;
    COMMIT;
END;
