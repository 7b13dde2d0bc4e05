/* nfsbench slob_load_plain */
-- releases: all
-- One piece of a table: so many rows, with keys from the first in equal steps, in no order.
BEGIN
    INSERT /*+ APPEND */ INTO {{.Schema}}.{{.Table}} (
        custid, c2, c3, c4, c5, c6, c7, c8, c9, c10,
        c11, c12, c13, c14, c15, c16, c17, c18, c19, c20
    )
    SELECT
        g.custid,
        LPAD('2', 128, 'X') AS c2,
        LPAD('3', 128, 'X') AS c3,
        LPAD('4', 128, 'X') AS c4,
        LPAD('5', 128, 'X') AS c5,
        LPAD('6', 128, 'X') AS c6,
        LPAD('7', 128, 'X') AS c7,
        LPAD('8', 128, 'X') AS c8,
        LPAD('9', 128, 'X') AS c9,
        LPAD('10', 128, 'X') AS c10,
        LPAD('11', 128, 'X') AS c11,
        LPAD('12', 128, 'X') AS c12,
        LPAD('13', 128, 'X') AS c13,
        LPAD('14', 128, 'X') AS c14,
        LPAD('15', 128, 'X') AS c15,
        LPAD('16', 128, 'X') AS c16,
        LPAD('17', 128, 'X') AS c17,
        LPAD('18', 128, 'X') AS c18,
        LPAD('19', 128, 'X') AS c19,
        LPAD('20', 128, 'X') AS c20
    FROM (
        SELECT
            b.first_key + (LEVEL - 1) * b.key_step AS custid,
            b.seed
        FROM (
            SELECT
                TO_NUMBER(:1) AS first_key,
                TO_NUMBER(:2) AS key_step,
                TO_NUMBER(:3) AS seed
            FROM dual
        ) b
        CONNECT BY LEVEL <= :4
    ) g
    ORDER BY ORA_HASH(g.custid, 4294967295, g.seed);
    COMMIT;
END;
