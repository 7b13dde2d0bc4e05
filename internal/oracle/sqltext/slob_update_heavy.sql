/* nfsbench slob_update_heavy */
-- releases: all
-- What to write, in another order in each column, then the first and the last key.
DECLARE
    data VARCHAR2(128) := :1;
BEGIN
    UPDATE /*+ INDEX(r nfsbench_ranges_custid) */ nfsbench_ranges r
    SET
        r.c2 = SUBSTR(data, 2) || SUBSTR(data, 1, 1),
        r.c3 = SUBSTR(data, 3) || SUBSTR(data, 1, 2),
        r.c4 = SUBSTR(data, 4) || SUBSTR(data, 1, 3),
        r.c5 = SUBSTR(data, 5) || SUBSTR(data, 1, 4),
        r.c6 = SUBSTR(data, 6) || SUBSTR(data, 1, 5),
        r.c7 = SUBSTR(data, 7) || SUBSTR(data, 1, 6),
        r.c8 = SUBSTR(data, 8) || SUBSTR(data, 1, 7),
        r.c9 = SUBSTR(data, 9) || SUBSTR(data, 1, 8),
        r.c10 = SUBSTR(data, 10) || SUBSTR(data, 1, 9),
        r.c11 = SUBSTR(data, 11) || SUBSTR(data, 1, 10),
        r.c12 = SUBSTR(data, 12) || SUBSTR(data, 1, 11),
        r.c13 = SUBSTR(data, 13) || SUBSTR(data, 1, 12),
        r.c14 = SUBSTR(data, 14) || SUBSTR(data, 1, 13),
        r.c15 = SUBSTR(data, 15) || SUBSTR(data, 1, 14),
        r.c16 = SUBSTR(data, 16) || SUBSTR(data, 1, 15),
        r.c17 = SUBSTR(data, 17) || SUBSTR(data, 1, 16),
        r.c18 = SUBSTR(data, 18) || SUBSTR(data, 1, 17),
        r.c19 = SUBSTR(data, 19) || SUBSTR(data, 1, 18),
        r.c20 = SUBSTR(data, 20) || SUBSTR(data, 1, 19)
    WHERE r.custid BETWEEN :2 AND :3;
    COMMIT;
END;
